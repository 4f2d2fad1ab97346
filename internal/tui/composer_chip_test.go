package tui

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of what was pasted\n", i)
	}
	return b.String()
}

func TestTPASTELongOneIsAChip(t *testing.T) {
	t.Parallel()
	c := newAt("look: ")
	text := lines(1000)
	if note := c.Paste(text); note != "" {
		t.Errorf("note %q", note)
	}
	c.Type(" ok?")
	if rows, _, _ := c.View(60, 8); strings.Join(rows, "|") != "look: [Pasted 1 · 1000 lines] ok?" {
		t.Errorf("shows %q", rows)
	}
	if c.Text() != "look: "+text+" ok?" {
		t.Error("the text is not what was pasted")
	}
	c.Paste(strings.Repeat("x", 1200))
	if rows, _, _ := c.View(80, 8); !strings.HasSuffix(rows[0], "ok?[Pasted 2 · 1200 characters]") {
		t.Errorf("shows %q", rows)
	}
}

func TestTPASTEShortOneIsText(t *testing.T) {
	t.Parallel()
	for text, chips := range map[string]int{
		strings.Repeat("l\n", chipLines-2) + "l": 0, strings.Repeat("l\n", chipLines-1) + "l": 1,
		strings.Repeat("l\n", chipLines-1): 0, strings.Repeat("l\n", chipLines): 1,
		strings.Repeat("字", chipChars-1): 0, strings.Repeat("字", chipChars): 1,
	} {
		c := NewComposer(nil)
		c.Paste(text)
		if len(c.chips) != chips || c.Text() != text {
			t.Errorf("%.20q: %d chips, %d bytes", text, len(c.chips), len(c.Text()))
		}
	}
}

func TestTPASTEChipIsOneUnit(t *testing.T) {
	t.Parallel()
	c := newAt("ab")
	c.Left()
	c.Paste(lines(20))
	c.Left()
	c.Delete()
	if c.Text() != "ab" {
		t.Errorf("delete: %q", c.Text())
	}
	c.Undo()
	c.Right()
	c.DeleteBack()
	if c.Text() != "ab" {
		t.Errorf("backspace: %q", c.Text())
	}
	c.Undo()
	if c.Text() != "a"+lines(20)+"b" {
		t.Errorf("undo: %q", c.Text())
	}
	c.TextEnd()
	c.WordLeft()
	c.WordLeft()
	if _, _, col := c.View(80, 8); col != 1 {
		t.Errorf("a chip is a word: caret at %d", col)
	}
}

func TestTPASTEExpands(t *testing.T) {
	t.Parallel()
	text := lines(12)
	c := newAt("a ")
	c.Paste(text)
	c.Paste(text) // again
	if c.Text() != "a "+text || len(c.lines) != 13 {
		t.Errorf("the same paste again: %d lines, %q", len(c.lines), c.Text())
	}
	c.Undo()
	if len(c.lines) != 1 || c.Text() != "a "+text {
		t.Errorf("undo: %q", c.lines)
	}
	c.TextStart()
	c.Key("alt+e")
	if len(c.lines) != 1 {
		t.Error("a chip far from the caret expands")
	}
	c.Key("end")
	c.Key("alt+e")
	if len(c.lines) != 13 {
		t.Error("the chip before the caret does not expand")
	}
	c.Undo()
	c.TextStart()
	c.Right()
	c.Right()
	c.Key("alt+e")
	if len(c.lines) != 13 || c.Text() != "a "+text {
		t.Error("the chip at the caret does not expand")
	}
	if c.Expand() {
		t.Error("there is nothing to expand")
	}
}

func TestTPASTESanitises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, want string
		dropped  int
	}{
		{"a\nb\r\nc\n", "a\nb\nc\n", 0}, {"a\rb\r\r\nc", "a\nb\n\nc", 0}, {"tab\tstays", "tab\tstays", 0},
		{"\x1b[201~\rx", "\nx", 1}, {"\x03", "", 1}, {"a\x00b\x7fc\u0085d", "abcd", 3}, {"\x1b[31mred\x1b[0m", "red", 2},
		{"\x1b[A", "", 1}, {"\x1b]0;title\a", "]0;title", 2}, {"\x1b[12", "[12", 1}, {"\xff1\xfe", "\ufffd1\ufffd", 0}, {"\xe4\xbd", "\ufffd\ufffd", 0},
		{"fine \ufffd你好", "fine \ufffd你好", 0},
	} {
		got, dropped := sanitise(c.in)
		if got != c.want || dropped != c.dropped {
			t.Errorf("%q: got %q, %d dropped; want %q, %d", c.in, got, dropped, c.want, c.dropped)
		}
	}
	c := NewComposer(nil)
	if note := c.Paste("\x03"); note != "1 control character dropped from the paste" || !c.Empty() {
		t.Errorf("note %q", note)
	}
	if note := c.Paste("a\x03\x04"); note != "2 control characters dropped from the paste" || c.Text() != "a" {
		t.Errorf("note %q", note)
	}
}

func TestTPASTEBeginningMeansNothing(t *testing.T) {
	t.Parallel()
	c := NewComposer(nil)
	is := func(want bool, when string) {
		t.Helper()
		if c.Literal() != want {
			t.Errorf("%s: %q literal %v", when, c.Text(), c.Literal())
		}
	}
	is(false, "empty")
	c.Paste("/help me")
	is(true, "pasted")
	c.Type(" now")
	is(true, "typed behind")
	c.Undo()
	c.Undo()
	is(false, "undone")
	c.Redo()
	is(true, "redone")
	c.TextStart()
	c.Delete()
	is(true, "first one deleted")
	c.Type("/")
	is(false, "typed before")
	c.KillToEnd()
	is(false, "deleted")
	c.Reset()
	c.Type("/x ")
	c.Paste("!ls")
	is(false, "pasted behind")
	c.Reset()
	c.Paste("ab")
	c.Type("/help")
	c.TextStart()
	c.Delete()
	is(true, "part of it deleted")
	c.Delete()
	is(false, "all of it deleted")
	c.Reset()
	c.Paste(lines(20))
	is(true, "a chip")
	c.Expand()
	is(true, "an expanded chip")
	d := c.Draft()
	c.Reset()
	c.SetDraft(d)
	is(true, "a restored draft")
}

func FuzzComposer(f *testing.F) {
	f.Add("hello \x00\x01你好\x02\x03", uint8(40))
	f.Add("a\xff\xfe\x05b\r\n\x10\x11\x12", uint8(3))
	f.Add("\u200d👩\x07\u0301\x08🇩\x09🇪", uint8(10))
	ops := EditOps()
	f.Fuzz(func(t *testing.T, script string, width uint8) {
		script = script[:min(len(script), 300)] // each paste is as long as what was done before it
		h := NewHistory("", "/")
		c := NewComposer(h)
		completion := &Completion{
			Files:    func(query string, n int) ([]Item, string) { return []Item{{Text: query + "/"}, {Text: "a b.go"}}, "2" },
			Commands: func() []CommandHelp { return []CommandHelp{{Name: "help"}, {Name: "model", Args: "[name]"}} },
		}
		for i, r := range script {
			was := c.Text()
			switch {
			case r < ' ' && int(r) < len(ops) && r != '\n':
				c.Edit(ops[r])
			case r == '\n':
				c.Paste(script[:i])
			case r == '~':
				completion.Accept(c)
			case r == '^':
				c.Older()
			case r == 'v':
				c.Newer()
			default:
				typed, _ := sanitise(string(r))
				c.Type(string(r))
				if len(c.Text()) != len(was)+len(typed) {
					t.Fatalf("typing %q turned %q into %q", r, was, c.Text())
				}
			}
			completion.Update(c)
			rows, row, col := c.View(int(width), 6)
			if row < 0 || row >= len(rows) || col < 0 || col >= max(int(width), 2) {
				t.Fatalf("caret at %d,%d of %d rows", row, col, len(rows))
			}
			if !utf8.ValidString(c.Text()) || strings.IndexByte(strings.Join(rows, ""), chipOpen) >= 0 {
				t.Fatalf("text %q rows %q", c.Text(), rows)
			}
			completion.Rows(int(width), 5)
		}
		text := c.Text()
		steps := 0
		for c.Undo() {
			steps++
		}
		for range steps {
			c.Redo()
		}
		if c.Text() != text {
			t.Fatalf("after all was undone and done again: %q, want %q", c.Text(), text)
		}
	})
}

func benchmarkKeys(b *testing.B, text string, key func(*Composer)) {
	c := newAt(text)
	c.View(80, 8)
	c.cur = place{len(c.lines) / 2, 0}
	b.ReportAllocs()
	for b.Loop() {
		key(c)
		c.View(80, 8)
	}
}

func BenchmarkKey(b *testing.B) {
	line := "some words of a line in the middle of a long text\n"
	for _, size := range []int{100, 10 << 10, 1 << 20} {
		for name, text := range map[string]string{
			"lines": strings.Repeat(line, size/len(line)+1), "oneline": strings.Repeat("word and ", size/9+1), "cjk": strings.Repeat("请看一下这个测试", size/24+1),
		} {
			b.Run(fmt.Sprintf("type/%s/bytes=%d", name, size), func(b *testing.B) {
				benchmarkKeys(b, text, func(c *Composer) { c.Type("x"); c.DeleteBack() })
			})
			b.Run(fmt.Sprintf("move/%s/bytes=%d", name, size), func(b *testing.B) {
				benchmarkKeys(b, text, func(c *Composer) { c.Right(); c.Left() })
			})
		}
	}
}

func BenchmarkPaste(b *testing.B) {
	for _, size := range []int{10 << 10, 1 << 20} {
		text := strings.Repeat("some words of a line that is pasted\n", size/36)
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			for b.Loop() {
				c := NewComposer(nil)
				c.Paste(text)
				c.Expand()
				c.View(80, 8)
			}
		})
	}
}
