package jobs

import (
	"io"
	"os"
	"strings"
	"testing"

	"dsh/internal/redact"
)

func hide() Filter { return redact.New(nil).Stream().Next }

// A secret whose pieces come one after another is in no view and on no disk at any
// time; what comes before it can be seen while the rest is waited for.
func TestD07AnOutputIsFilteredBeforeItIsKept(t *testing.T) {
	t.Parallel()
	const token = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
	c := newCapture(NewArtifacts(t.TempDir(), 0, 0))
	c.filter = hide()
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() { c.readFrom(out); close(ended) }()
	write := func(text string) {
		if _, err := io.WriteString(in, text); err != nil {
			t.Error(err)
		}
	}
	write("$ env\nGH=")
	for i := range token {
		write(token[i : i+1])
		write("") // the read before has been kept when this one is taken
		if text, _ := c.peek(0); !strings.HasPrefix("$ env\nGH=[redacted: GitHub token]", text) {
			t.Fatalf("after %d bytes the view shows %q", i, text)
		}
	}
	write("\n" + strings.Repeat("x\n", headSize+tailSize) + "GH=" + token[:20])
	write(token[20:])
	in.Close()
	<-ended
	r := c.result()
	kept, err := os.ReadFile(r.Artifact)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"result": r.Output, "artifact": string(kept)} {
		if strings.Contains(text, token[:20]) || strings.Count(text, "GH=[redacted: GitHub token]") != 2 {
			t.Errorf("the %s: %.60q ... %q", name, text, text[len(text)-60:])
		}
	}
	if want := int64(len(kept)); want != c.total {
		t.Errorf("%d bytes counted, %d kept", c.total, want)
	}
}

// What is held back at the end of an output is a part of it.
func TestAFilteredOutputIsWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "$ sk-", "eyJ", "-----BEGIN PRIVATE KEY-----\nMIIE", "ghp_abc"} {
		c := newCapture(NewArtifacts(t.TempDir(), 0, 0))
		c.filter = hide()
		c.readFrom(io.NopCloser(strings.NewReader(text)))
		if r := c.result(); r.Output != text {
			t.Errorf("%q became %q", text, r.Output)
		}
	}
}
