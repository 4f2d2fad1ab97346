package tools

import (
	"strings"
	"testing"
)

// What a model gets wrong, and the words from which it can put it right. Nothing is
// guessed: a value of the wrong type stays wrong, also where its meaning is plain.
func TestPIP03B05WrongArgumentsSayHowToRepairThem(t *testing.T) {
	t.Parallel()
	reg := registry(t, Read(), Write(), Edit(), Bash(BashOptions{}), fake{name: "todo_write", schema: nested})
	for _, c := range []struct {
		tool, args string
		want       []string
	}{
		{"read", `{"file_path":"a","offset":"3"}`, []string{`- offset: must be an integer, is the string "3"`, "Its properties: file_path (required), limit, offset."}},
		{"read", `{"file_path":"a","offset":2.5}`, []string{"- offset: must be an integer, is the number 2.5"}},
		{"read", `{"file_path":"a","limit":0}`, []string{"- limit: is 0, must be at least 1"}},
		{"read", `{"file_path":["a"]}`, []string{`- file_path: must be a string, is the array ["a"]`}},
		{"read", `{"file_path":null}`, []string{"- file_path: must be a string, is null"}},
		{"read", `{"path":"a"}`, []string{`- file_path: required, but missing: rename "path", which is no property`}},
		{"read", `{"filePath":"a"}`, []string{`rename "filePath"`}},
		{"read", `{"file_pth":"a"}`, []string{`rename "file_pth"`}},
		{"read", `{"nothing":"a"}`, []string{"- file_path: required, but missing\nIts"}},
		{"read", `{"limit":5}`, []string{"- file_path: required, but missing\nIts"}}, // limit is a property
		{"write", `{"file_path":"a","contents":"x"}`, []string{`- content: required, but missing: rename "contents"`, "Its properties: content (required), file_path (required)."}},
		{"edit", `{"file_path":"a","old_str":"x","newString":"y"}`, []string{`- old_string: required, but missing: rename "old_str"`, `- new_string: required, but missing: rename "newString"`}},
		{"edit", `{"file_path":"a","old_string":"x","new_string":"y","replace_all":"true"}`, []string{`- replace_all: must be a boolean, is the string "true"`}},
		{"bash", `{"cmd":"ls","description":"List"}`, []string{`- command: required, but missing: rename "cmd"`}},
		{"bash", `{"command":"ls","description":"List","timeoutMs":"5000"}`, []string{`- timeoutMs: must be a number, is the string "5000"`}},
		{"todo_write", `{"path":"x","todos":"[]"}`, []string{`- todos: must be an array, is the string "[]"`}},
		{"todo_write", `{"path":"x","todos":[{"contents":"a","status":"open"}]}`, []string{`- todos[0].content: required, but missing: rename "contents"`, "- todos[0].contents: no such property, there are content, status"}},
		{"todo_write", `{"path":"x","todos":[],"mode":"` + strings.Repeat("z", 900) + `"}`, []string{`- mode: is "zzz`, `..., must be one of "a", "b"`}},
	} {
		call, bad := reg.Prepare(c.tool, c.args)
		if call != nil || bad == nil || bad.Code != InvalidArgs {
			t.Errorf("%s %s: got %v, %+v", c.tool, c.args, call, bad)
			continue
		}
		for _, want := range append(c.want, c.tool+" was not run") {
			if !strings.Contains(bad.Text, want) {
				t.Errorf("%s %s: %q lacks %q", c.tool, c.args, bad.Text, want)
			}
		}
		if len(bad.Text) > 1000 {
			t.Errorf("%s: a text of %d bytes", c.tool, len(bad.Text))
		}
	}
	for _, ok := range [][2]string{{"read", `{"file_path":"a","offset":3.0}`}, {"read", `{"file_path":"a","limit":1e300,"path":"b"}`}} {
		if _, bad := reg.Prepare(ok[0], ok[1]); bad != nil {
			t.Errorf("%s %s: %s", ok[0], ok[1], bad.Text)
		}
	}
}

func TestPIP01UnknownToolNamesTheNearest(t *testing.T) {
	t.Parallel()
	reg := registry(t, Read(), Write(), Edit())
	for name, want := range map[string]string{"Read": "read", "read_file": "read", "writ": "write", "file_edit": "edit"} {
		if _, bad := reg.Prepare(name, "{}"); !strings.Contains(bad.Text, "Did you mean "+want+"? The tools are: edit, read, write.") {
			t.Errorf("%s: %s", name, bad.Text)
		}
	}
	if _, bad := reg.Prepare("x", "{}"); strings.Contains(bad.Text, "Did you mean") {
		t.Error(bad.Text)
	}
}

const hidden = "[redacted: GitHub token]"

// What stands for a secret must not be written in its place.
func TestD07MarkersAreNotWritten(t *testing.T) {
	t.Parallel()
	reg := registry(t, Read(), Write(), Edit(), Bash(BashOptions{}), fake{name: "other"})
	for _, c := range []struct {
		name, tool, args string
		refused          bool
	}{
		{"write", "write", args("file_path", ".env", "content", "TOKEN="+hidden), true},
		{"write to a name", "write", args("file_path", hidden+".txt", "content", "x"), true},
		{"old_string", "edit", args("file_path", "a", "old_string", "TOKEN="+hidden, "new_string", "x"), true},
		{"new_string", "edit", args("file_path", "a", "old_string", "x", "new_string", hidden), true},
		{"escaped", "write", strings.ReplaceAll(args("file_path", ".env", "content", hidden), "[", `\u005b`), true},
		{"a heredoc", "bash", args("command", "cat > .env <<'EOF'\nTOKEN="+hidden+"\nEOF", "description", "Write"), true},
		{"sed", "bash", args("command", "sed -i 's/x/"+hidden+"/' .env", "description", "Replace"), true},
		{"a command that only reads", "bash", args("command", "grep -rF '"+hidden+"' .", "description", "Look"), false},
		{"read", "read", args("file_path", hidden), false},
		{"another class", "other", args("a", hidden), false},
		{"no marker", "write", args("file_path", ".env", "content", "[redacted] [redacted:] [x: y]"), false},
	} {
		_, bad := reg.Prepare(c.tool, c.args)
		if (bad != nil) != c.refused {
			t.Errorf("%s: got %+v", c.name, bad)
		} else if bad != nil {
			wantText(t, bad.Text, c.tool+" was not run", hidden, "hid a secret from you", "ask the user")
			if bad.Code != HasMarker {
				t.Errorf("%s: code %s", c.name, bad.Code)
			}
		}
	}
}
