package markdown

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"dsh/internal/termtext"
)

func TestBlocksAndMarks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, plain, mono string }{
		{"marks", "**b** *i* ~~s~~ `c`", "**b** *i* ~~s~~ `c`", "<1>b<0> <3>i<0> <9>s<0> `c`"},
		{"nested marks", "**b *bi***", "**b *bi***", "<1>b <0><1;3>bi<0>"},
		{"headings", "# a\n## b\nc", "# a//## b/c", "<1;4>a<0>//<1>b<0>/c"},
		{"a link", "[x](http://y)", "x (http://y)", "<4>x<0> (<2>http://y<0>)"},
		{"a link that says where", "[http://y](http://y) <http://z> <a@b.cc>", "http://y http://z a@b.cc", "<4>http://y<0> <4>http://z<0> <4>a@b.cc<0>"},
		{"a link without text", "[](http://y)", "http://y", "<4>http://y<0>"},
		{"an image", "![x](y.png)", "image: x (y.png)", "image: <4>x<0> (<2>y.png<0>)"},
		{"tags", "Vec<String> <b>x</b>", "Vec<String> <b>x</b>", "Vec<String> <b>x</b>"},
		{"references", "a &lt; b &copy; &nope; & `&lt;`", "a < b © &nope; & `&lt;`", "a < b © &nope; & `&lt;`"},
		{"escapes", "\\*a\\* \\(x\\) \\[y\\]", "*a* \\(x\\) \\[y\\]", "*a* \\(x\\) \\[y\\]"},
		{"line breaks", "a\nb  \nc\\\nd", "a/b/c/d", "a/b/c/d"},
		{"tight and loose", "- a\n- b\n\n- c", "- a/- b//- c", "- a/- b//- c"},
		{"numbers", "3. a\n3. b\n\n3. c", "3. a/4. b//5. c", "3. a/4. b//5. c"},
		{"a list in a list", "1. a\n   - b\n     c", "1. a/   - b/     c", "1. a/   - b/     c"},
		{"tasks", "- [x] a\n- [ ] b", "[x] a/[ ] b", "[x] a/[ ] b"},
		{"quotes", "> a\n>\n> b", "> a/>/> b", "<2>><0> a/<2>><0>/<2>><0> b"},
		{"code", "a\n```go x\n\tb\n```\nc", "a//```go x/    b/```//c", "a//<2>go x<0>/    b//c"},
		{"code with backticks", "````\n```\n````", "````/```/````", "```"},
		{"a fence that an item left open", "- a\n  ```\n  b\n```\nc", "- a//  ```/  b/  ```//c", "- a//  b//c"},
		{"a rule", "a\n\n***\nb", "a//---/b", "a//<2>---<0>/b"},
		{"blank lines", "\n\na\n\n\n\nb\n\n", "a//b", "a//b"},
		{"nothing", "\n \n", "", ""},
	} {
		if got := strings.Join(Plain(c.in, 60), "/"); got != c.plain {
			t.Errorf("%s: plain %q, want %q", c.name, got, c.plain)
		}
		got := strings.Join(Render(c.in, Options{Width: 60, Theme: Mono()}), "/")
		want := c.mono
		for _, style := range []string{"1", "2", "3", "4", "9", "0", "1;3", "1;4"} {
			want = strings.ReplaceAll(want, "<"+style+">", "\x1b["+style+"m")
		}
		if got != want {
			t.Errorf("%s: mono %q, want %q", c.name, got, want)
		}
	}
}

func TestNoRoomToIndent(t *testing.T) {
	t.Parallel()
	got := Plain("- one\n  - two\n    > three", 9)
	if want := []string{"-", "one", "-", "two", "three"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestAWidthChangeDrawsAllAnew(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Join(snippets, "\n\n"), "text\n```go\nfunc main() {\n\tx"} {
		r := New(Options{Width: 100, Theme: Ansi()})
		r.Append(text[:len(text)/2])
		r.Rows()
		r.Append(text[len(text)/2:])
		r.Rows()
		r.SetWidth(33)
		fresh := New(Options{Width: 33, Theme: Ansi()})
		fresh.Append(text)
		if !slices.Equal(r.Rows(), fresh.Rows()) || r.Settled() != fresh.Settled() {
			t.Errorf("%q is\n%q, fresh\n%q", text, r.Rows(), fresh.Rows())
		}
	}
}

func TestTextAfterTheEndIsANewBlock(t *testing.T) {
	t.Parallel()
	r := New(Options{Width: 40})
	r.Append("```\ncode")
	r.Finish()
	r.Finish()
	before := slices.Clone(r.Rows())
	r.Append("more\n")
	r.Finish()
	if want := append(before, "", "more"); !slices.Equal(r.Rows(), want) {
		t.Errorf("%q, want %q", r.Rows(), want)
	}
}

func TestHighlighter(t *testing.T) {
	t.Parallel()
	theme := Theme{Comment: "2", String: "32", Number: "36", Keyword: "35", Added: "92", Removed: "91"}
	for _, c := range []struct{ name, language, in, want string }{
		{"words", "GO", "func f9() int { return 42 }", "<35>func<0> f9() int { <35>return<0> <36>42<0> }"},
		{"a string with an escape", "go", `x := "a\"b" // c`, `x := <32>"a\"b"<0> <2>// c<0>`},
		{"a string over lines", "go", "`a\nb` + 1", "<32>`a<0>\n<32>b`<0> + <36>1<0>"},
		{"a comment over lines", ".ts", "/* a\n\nb */ const", "<2>/* a<0>\n\n<2>b */<0> <35>const<0>"},
		{"an apostrophe", "sh", "it's # ok", "it's <2># ok<0>"},
		{"a hash in a word", "sh", "echo $#", "echo $#"},
		{"keywords in any case", "sql", "Select a", "<35>Select<0> a"},
		{"other scripts", "py", "数 = '字'", "数 = <32>'字'<0>"},
		{"a diff", "diff", "+a\n-b\n@@ c\n d", "<92>+a<0>\n<91>-b<0>\n<2>@@ c<0>\n d"},
		{"unknown", "whatever", "func 1", "func 1"},
		{"none", "", "func 1", "func 1"},
	} {
		h := NewHighlighter(c.language, theme)
		lines := strings.Split(c.in, "\n")
		for i := range lines {
			lines[i] = h.Line(lines[i])
		}
		want := c.want
		for _, style := range []string{"2", "32", "35", "36", "91", "92", "0"} {
			want = strings.ReplaceAll(want, "<"+style+">", "\x1b["+style+"m")
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

func FuzzHighlighter(f *testing.F) {
	for name := range languages {
		f.Add(name, "func `x\ny` /* a */ \"b\\\" 'c' # d -- e 42 \u4e2d")
	}
	f.Fuzz(func(t *testing.T, language, code string) {
		h := NewHighlighter(language, Ansi())
		for line := range strings.SplitSeq(termtext.Clean(code), "\n") {
			if got := ansi.Strip(h.Line(line)); got != line {
				t.Fatalf("%q became %q", line, got)
			}
		}
	})
}
