package termtext

import (
	"encoding/json"
	"testing"
)

func TestJSONEscapesWhatATerminalWouldObey(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":"plain ünï 日本"}`:       `{"a":"plain ünï 日本"}`,
		"[\"\u202ex\u202c\"]\n":      "[\"\\u202ex\\u202c\"]\n",
		"\"\u009b31m\x7f\"":          `"\u009b31m\u007f"`,
		"\"\U000e0041b\"":            `"\udb40\udc41b"`,
		"\"👩\u200d💻\"":               "\"👩\u200d💻\"", // a joiner where one belongs
		"\"a\u200db\u2028\u00ad\"":   `"a\u200db\u2028\u00ad"`,
		"\"\u202e\u202e\u202e end\"": `"\u202e\u202e\u202e end"`,
	} {
		got := JSON(in)
		if got != want {
			t.Errorf("JSON(%q) = %q, want %q", in, got, want)
		}
		var before, after any
		if err := json.Unmarshal([]byte(in), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &after); err != nil || !equalJSON(before, after) {
			t.Errorf("%q means %v, %v; it was %v", got, after, err, before)
		}
		if JSON(got) != got {
			t.Errorf("%q is not left alone", got)
		}
	}
	if got := JSON("\"\xff\x1b\""); got != `"\ufffd\u001b"` {
		t.Errorf("no JSON: %q", got)
	}
}

func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
