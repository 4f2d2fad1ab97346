package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dsh/internal/termtext"
)

// project is a source of files for the tests: those that begin with the query.
func project(files ...string) *Completion {
	return &Completion{
		Files: func(query string, n int) ([]Item, string) {
			var items []Item
			for _, f := range files {
				if strings.HasPrefix(f, query) && f != query && len(items) < n {
					items = append(items, Item{Text: f})
				}
			}
			return items, fmt.Sprintf("%d of %d, walk", len(items), len(files))
		},
		Commands: func() []CommandHelp {
			return []CommandHelp{
				{Name: "resume", Args: "[id]", Help: "switch to another session"}, {Name: "rewind", Help: "go back to an earlier message"},
				{Name: "rename", Args: "title", Help: "set this session's title"}, {Name: "review", Help: "review the changes", Source: "skill"},
				{Name: "help", Help: "keys and commands"},
			}
		},
	}
}

// typing types text rune by rune, as people do.
func typing(c *Composer, p *Completion, text string) {
	for _, r := range text {
		c.Type(string(r))
		p.Update(c)
	}
}

func TestMentionOpensAtAWordStart(t *testing.T) {
	t.Parallel()
	for text, open := range map[string]bool{
		"@": true, "look at @int": true, "(@in": true, "看@in": true, "mail a@in": false, "a/@in": false, "@int x": false, "x\n@in": true,
		"@\"my ": true, "@nothing": false, "`@in": true,
	} {
		c, p := NewComposer(nil), project("internal/", "internal/a.go", "my file.go")
		typing(c, p, text)
		if p.Open() != open {
			t.Errorf("%q: open %v", text, p.Open())
		}
	}
}

func TestMentionPastedMeansNothing(t *testing.T) {
	t.Parallel()
	c, p := NewComposer(nil), project("internal/")
	c.Paste("see @in")
	p.Update(c)
	if p.Open() {
		t.Error("a paste opens the popup")
	}
	typing(c, p, "t")
	if p.Open() {
		t.Error("typing behind a paste opens the popup")
	}
	if !p.Force(c) {
		t.Error("the key that completes does not open it")
	}
}

func TestMentionAtOnce(t *testing.T) {
	t.Parallel()
	c, p := NewComposer(nil), project("internal/")
	c.Type("@int") // one read
	if p.Update(c); !p.Open() {
		t.Error("not open")
	}
}

func TestMentionDrillsDown(t *testing.T) {
	t.Parallel()
	c, p := NewComposer(nil), project("internal/", "internal/a.go", "internal/b c.go", "my dir/", "my dir/x y.go")
	typing(c, p, "see @int")
	if !p.Accept(c) || c.Text() != "see @internal/" || !p.Open() {
		t.Fatalf("got %q, open %v", c.Text(), p.Open())
	}
	p.Move(1)
	if !p.Accept(c) || c.Text() != `see @"internal/b c.go" ` || p.Open() {
		t.Fatalf("got %q, open %v", c.Text(), p.Open())
	}
	typing(c, p, "@my")
	p.Accept(c)
	if !strings.HasSuffix(c.Text(), `@"my dir/`) || !p.Open() {
		t.Fatalf("got %q, open %v", c.Text(), p.Open())
	}
	p.Accept(c)
	if !strings.HasSuffix(c.Text(), ` @"my dir/x y.go" `) {
		t.Errorf("got %q", c.Text())
	}
	c.Undo()
	if !strings.HasSuffix(c.Text(), `@"my dir/`) {
		t.Errorf("undo: %q", c.Text())
	}
}

func TestMentionKeepsTheRange(t *testing.T) {
	t.Parallel()
	c, p := NewComposer(nil), project("internal/a.go")
	typing(c, p, "@int:40-90")
	if !p.Accept(c) || c.Text() != "@internal/a.go:40-90 " {
		t.Errorf("got %q", c.Text())
	}
	for in, want := range map[string]string{
		"a.go:4": "a.go :4", "a.go:": "a.go :", "a.go:4-": "a.go :4-", `"a b.go":4-5`: "a b.go :4-5", "c:12:d": "c:12:d ", `"q\"\\`: `q"\ `,
	} {
		query, suffix, ok := parseMention(in)
		if query+" "+suffix != want || !ok {
			t.Errorf("%q: %q %q %v", in, query, suffix, ok)
		}
	}
}

func TestMentionReadsWhatItWrites(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a.go", "a b.go", `q"uote.go`, `back\slash.go`, `b\ot"h x`, "字 字.go"} {
		text := strings.TrimSuffix(mention(path, ":1-2"), " ")
		query, suffix, ok := parseMention(text[1:])
		if query != path || suffix != ":1-2" || !ok {
			t.Errorf("%q is written %s and read as %q %q", path, text, query, suffix)
		}
	}
}

func TestPopupStaysClosed(t *testing.T) {
	t.Parallel()
	c, p := NewComposer(nil), project("internal/a.go")
	typing(c, p, "@in")
	p.Close()
	typing(c, p, "t")
	c.DeleteBack()
	p.Update(c)
	if p.Open() || c.Text() != "@in" {
		t.Errorf("open %v, %q", p.Open(), c.Text())
	}
	typing(c, p, " @in")
	if !p.Open() {
		t.Error("another word does not open it")
	}
	c.TextStart()
	p.Update(c)
	if p.Open() {
		t.Error("open though the caret is elsewhere")
	}
}

func TestPopupKeepsTheChoice(t *testing.T) {
	t.Parallel()
	c, p := NewComposer(nil), project("a", "ab", "abc")
	typing(c, p, "@")
	p.Move(2)
	p.Update(c) // more files are known
	if item, _ := p.Selected(); item.Text != "abc" {
		t.Errorf("selected %q", item.Text)
	}
	p.Move(1)
	if item, _ := p.Selected(); item.Text != "a" {
		t.Errorf("the ends do not meet: %q", item.Text)
	}
	p.Move(-1)
	if item, _ := p.Selected(); item.Text != "abc" {
		t.Errorf("backwards: %q", item.Text)
	}
}

func TestCommandMenu(t *testing.T) {
	t.Parallel()
	items := func(query string) string {
		var names []string
		for _, item := range matchCommands(query, project().Commands()) {
			names = append(names, item.Text)
		}
		return strings.Join(names, " ")
	}
	for query, want := range map[string]string{
		"": "/resume /rewind /rename /review /help", "re": "/resume /rewind /rename /review", "rv": "/review", "keys": "/help", "zz": "",
		"session": "/resume /rename",
	} {
		if got := items(query); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	for text, open := range map[string]bool{"/": true, "/re": true, "x /re": false, "/etc/h": false, "/re x": false, "//": false, "/Re": false} {
		c, p := NewComposer(nil), project()
		typing(c, p, text)
		if p.Open() != open {
			t.Errorf("%q: open %v", text, p.Open())
		}
	}
	c, p := NewComposer(nil), project()
	typing(c, p, "/res")
	if !p.Accept(c) || c.Text() != "/resume " || p.Open() || p.ArgsHint(c) != "[id]" {
		t.Errorf("got %q, hint %q", c.Text(), p.ArgsHint(c))
	}
	typing(c, p, "7")
	if p.ArgsHint(c) != "" {
		t.Error("the hint stays")
	}
	c.Reset()
	typing(c, p, "/rew")
	if !p.Accept(c) || c.Text() != "/rewind" {
		t.Errorf("got %q", c.Text())
	}
	c.Reset()
	c.Paste("/re")
	if p.Force(c) {
		t.Error("a pasted command completes")
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/help": "help|", "/model  flash high ": "model|flash high", "/etc/hosts is odd": "", "//text": "", "help": "", "/Help": "", "/": "",
		"/plan a\nb": "plan|a\nb", " /help": "", "/a_b-1": "a_b-1|", "/9": "",
	} {
		name, args, ok := ParseCommand(text)
		if got := name + "|" + args; ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %v", text, got, ok)
		}
	}
}

func TestSuggestCommands(t *testing.T) {
	t.Parallel()
	all := project().Commands()
	for name, want := range map[string][]string{
		"resme": {"resume", "rename"}, "hlep": {"help"}, "hel": {"help"}, "xyzzy": nil, "reveiw": {"review", "rewind", "rename"},
	} {
		got := SuggestCommands(name, all)
		if len(got) > maxSuggestions || len(want) > 0 && (len(got) == 0 || got[0] != want[0]) || want == nil && got != nil {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if d := distance("ab", "ba"); d != 1 {
		t.Errorf("two letters swapped: %d", d)
	}
}

func TestPopupGoldens(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80} {
		c, p := NewComposer(nil), &Completion{
			Files: func(string, int) ([]Item, string) {
				return []Item{
					{Text: "internal/cart/expiry.go", Detail: "modified"}, {Text: "internal/cart/expiry_test.go"}, {Text: "文档/购物车/过期规则说明.md", Detail: "modified"},
					{Text: "a/very/long/way/down/to/a/file/that/has/a/name/" + strings.Repeat("long", 10) + ".go"}, {Text: "bad\x1b[2Jname\n.go"},
				}, "5 of 5, git ls-files"
			},
			Commands: project().Commands,
		}
		typing(c, p, "@")
		var b strings.Builder
		for range 3 {
			b.WriteString(strings.Join(p.Rows(width, 5), "\n") + "\n\n")
			p.Move(2)
		}
		if len(p.items) != 4 {
			t.Errorf("a name that nobody can type is offered: %q", p.items)
		}
		c.Reset()
		typing(c, p, "/re")
		b.WriteString(strings.Join(p.Rows(width, 5), "\n") + "\n")
		golden(t, fmt.Sprintf("popup-%d.txt", width), b.String())
	}
}

func TestPopupRowsFit(t *testing.T) {
	t.Parallel()
	var items []Item
	for i := range 30 {
		items = append(items, Item{Text: strings.Repeat("目录/", i) + "x", Detail: strings.Repeat("d", i), Source: "skill"})
	}
	p := &Completion{open: true, items: items, note: "a note that is rather long"}
	for width := range 90 {
		for _, rows := range []int{0, 1, 2, 5, 40} {
			for range 7 {
				p.Move(5)
				got := p.Rows(width, rows)
				if len(got) > rows {
					t.Fatalf("%d rows of %d", len(got), rows)
				}
				for _, r := range got {
					if termtext.Width(r) > width {
						t.Fatalf("%q is wider than %d", r, width)
					}
				}
				if rows > 0 && width > 4 && !slices.ContainsFunc(got, func(r string) bool { return strings.HasPrefix(r, chosen) }) {
					t.Fatalf("the chosen row is out of sight: %q", got)
				}
			}
		}
	}
}
