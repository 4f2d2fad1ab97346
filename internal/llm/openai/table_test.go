package openai

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Where a test says which line of the table it holds: in its name, or at the
// beginning of a subtest's or a row's name.
var (
	lineInName = regexp.MustCompile(`func (?:Test|Fuzz)(\w+)\(`)
	lineInText = regexp.MustCompile("[\"`]([FSTUEV][0-9]{2})[ \"`:]")
	aLine      = regexp.MustCompile(`[FSTUEV][0-9]{2}`)
)

// TestWireTable holds the tests to the table of what is known of endpoints: framing
// (F), shapes of chunks (S), tool calls (T), usage (U), errors (E) and the histories
// that get refused (V). Every line is held by a test that bears its id, or the list
// says why it does not apply.
func TestWireTable(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/wire-ids.txt")
	if err != nil {
		t.Fatal(err)
	}
	bearing := map[string]map[string]bool{} // ids by folder
	seen := map[string]bool{}
	lines, held, not := 0, 0, 0
	for entry := range strings.Lines(string(list)) {
		if entry = strings.TrimSpace(entry); entry == "" || entry[0] == '#' {
			continue
		}
		id, rest, _ := strings.Cut(entry, " ")
		lines++
		if seen[id] {
			t.Errorf("%s stands twice in the list", id)
		}
		seen[id] = true
		reason, open := strings.CutPrefix(rest, "not: ")
		folder := "."
		if !open && rest != "" {
			folder = strings.TrimPrefix(rest, "in ")
		}
		if bearing[folder] == nil {
			bearing[folder] = idsIn(t, folder)
		}
		switch here := bearing[folder][id]; {
		case open && strings.TrimSpace(reason) == "":
			t.Errorf("%s does not apply, and the list gives no reason", id)
		case open:
			not++
		case here:
			held++
		default:
			t.Errorf("%s is held by no test in %s: write one that bears its id, or say in testdata/wire-ids.txt why it does not apply", id, folder)
		}
	}
	for id := range idsIn(t, ".") {
		if !seen[id] {
			t.Errorf("a test bears %s, which the list does not have", id)
		}
	}
	t.Logf("wire table: %d lines, %d held, %d do not apply", lines, held, not)
}

// idsIn are the ids that the tests of a folder bear.
func idsIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s (%v)", folder, err)
	}
	ids := map[string]bool{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lineInName.FindAllSubmatch(src, -1) {
			for _, id := range aLine.FindAllString(string(m[1]), -1) {
				ids[id] = true
			}
		}
		if filepath.Base(file) == "valid_test.go" {
			continue // its texts are those of the checker
		}
		for _, m := range lineInText.FindAllSubmatch(src, -1) {
			ids[string(m[1])] = true
		}
	}
	return ids
}
