package tools

import (
	"context"
	"fmt"
	"testing"

	"dsh/internal/session"
)

// The person who is asked sees where in the file an edit goes and what a write
// replaces; nothing is changed meanwhile.
func TestPreviewKnowsTheFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", numbered(30))
	b.must("read", "file_path", "f")
	preview := func(name string, pairs ...any) session.Display {
		t.Helper()
		call, bad := b.reg.Prepare(name, string(args(pairs...)))
		if bad != nil {
			t.Fatal(bad.Text)
		}
		if _, bad := call.Action(b.env()); bad != nil {
			t.Fatal(bad.Text)
		}
		return call.Preview(context.Background(), b.env())
	}
	check := func(d session.Display, facts string, hunk session.Hunk) {
		t.Helper()
		if len(d.Diffs) != 1 || fmt.Sprint(d.Diffs[0].Hunks) != fmt.Sprint([]session.Hunk{hunk}) || fmt.Sprint(d.Facts) != facts {
			t.Errorf("got %+v, want %+v %s", d, hunk, facts)
		}
	}
	check(preview("edit", "file_path", "f", "old_string", "line 30", "new_string", "line 30!"), "[+1 -1]",
		session.Hunk{OldStart: 27, NewStart: 27, Lines: []string{" line 27", " line 28", " line 29", "-line 30", "+line 30!"}})
	check(preview("write", "file_path", "f", "content", numbered(29)), "[+0 -1]",
		session.Hunk{OldStart: 27, NewStart: 27, Lines: []string{" line 27", " line 28", " line 29", "-line 30"}})
	check(preview("edit", "file_path", "f", "old_string", "nowhere", "new_string", "x"), "[+1 -1]",
		session.Hunk{OldStart: 1, NewStart: 1, Lines: []string{"-nowhere", "+x"}})
	if d := preview("write", "file_path", "new", "content", "x\n"); !d.Diffs[0].Created || fmt.Sprint(d.Facts) != "[new, 1 line]" {
		t.Errorf("a new file: %+v", d)
	}
	b.holds("f", numbered(30))
	b.only("f")
}
