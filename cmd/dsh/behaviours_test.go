package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Where a test says which behaviour it holds: in its name, at the beginning of a
// subtest's name or of a table row, in the name of a script or at the beginning of
// one of its comments.
var (
	inTestName   = regexp.MustCompile(`func (?:Test|Fuzz)(\w+)\(`)
	inText       = regexp.MustCompile("[\"`]([A-Z]{1,3}-?[0-9]{2})[ a-z:\"`_]")
	inScriptName = regexp.MustCompile(`(?:^|_)([a-z]{1,3}[0-9]{2})`)
	inComment    = regexp.MustCompile(`(?m)^# ((?:[A-Z]{1,3}[0-9]{2} )+)`)
	anID         = regexp.MustCompile(`[A-Z]{1,3}[0-9]{2}`)
)

// TestBehaviours holds the tree to its list: every behaviour is held by a test that
// bears its id, or has a reason why it does not apply.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	held := heldIDs(t)
	reasons := map[string]string{}
	for _, line := range lines(t, "../../testdata/ids-not-applicable.txt") {
		id, reason, _ := strings.Cut(line, " ")
		if reason == "" {
			t.Errorf("%s has no reason in ids-not-applicable.txt", id)
		}
		if reasons[id] != "" {
			t.Errorf("%s stands twice in ids-not-applicable.txt", id)
		}
		reasons[id] = reason
	}
	var nHeld, nNot int
	for _, id := range lines(t, "../../testdata/ids.txt") {
		switch {
		case held[id]:
			nHeld++
			if reasons[id] != "" {
				t.Errorf("%s is held by a test: take it off ids-not-applicable.txt", id)
			}
		case reasons[id] != "":
			nNot++
		default:
			t.Errorf("%s is held by no test: write one that bears its id, or say in testdata/ids-not-applicable.txt why it does not apply", id)
		}
	}
	t.Logf("behaviours: %d held, %d not applicable", nHeld, nNot)
}

func heldIDs(t *testing.T) map[string]bool {
	t.Helper()
	held := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch {
		case strings.HasSuffix(path, ".txtar"):
			for _, m := range inScriptName.FindAllStringSubmatch(filepath.Base(path), -1) {
				held[strings.ToUpper(m[1])] = true
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range inComment.FindAllStringSubmatch(string(src), -1) {
				for _, id := range strings.Fields(m[1]) {
					held[id] = true
				}
			}
		case strings.HasSuffix(path, "_test.go"):
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range inTestName.FindAllSubmatch(src, -1) {
				for _, id := range anID.FindAllString(string(m[1]), -1) {
					held[id] = true
				}
			}
			for _, m := range inText.FindAllSubmatch(src, -1) {
				held[strings.ReplaceAll(string(m[1]), "-", "")] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// lines are a list's entries, without comments.
func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}
