package tools

import (
	"os"
	"strings"
	"testing"
)

// TestLongLinesAreCleanedBeforeTheyAreCut: half of a secret would look like none.
func TestLongLinesAreCleanedBeforeTheyAreCut(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789012345678901234567890123456"
	gone := func(s string) string { return strings.ReplaceAll(s, secret, "[gone]") }
	v := &view{first: 1, limit: 1, clean: gone}
	v.feed([]byte(strings.Repeat("x", maxLineChars-10) + secret + "\n"))
	if text := v.text.String(); strings.Contains(text, "ghp_") || !strings.Contains(text, "[line cut") {
		t.Errorf("got %q", text[len(text)-80:])
	}
}

// TestReadDoesNotWaitForAFile: what cannot be read at once is no file.
func TestReadDoesNotWaitForAFile(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe() // with a writer that says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if n, err := (unwaiting{r}).Read(make([]byte, 8)); n != 0 || err == nil || !strings.Contains(err.Error(), "never ends") {
		t.Errorf("got %d, %v", n, err)
	}
}
