package transcript

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

func TestTCARD01TheTargetIsInTheFirstRow(t *testing.T) {
	t.Parallel()
	targets := map[session.DisplayKind]string{session.ShowText: "internal/cart/very/deep/inside/of/it/expiry_test.go", session.ShowDiff: "main.go",
		session.ShowCommand: "go test ./internal/cart -run TestExpiry -count=50", session.ShowFiles: "**/*.go", session.ShowMatches: `"p" in internal`,
		session.ShowJob: "bash-3", session.ShowTodo: "2 of 4", session.ShowImage: "a/b/shot.png"}
	for kind, target := range targets {
		want := path.Base(target)
		if kind == session.ShowCommand || kind == session.ShowMatches {
			want, _, _ = strings.Cut(target, " ")
		}
		for state := range Plain {
			b := &Block{Kind: Call, State: state, Answer: factOnce, result: (&script{}).result(call("c", "x", ""), "X", "Error: it went wrong in a way that takes long to say", nil).events[0].Data}
			for width := 30; width <= 140; width++ {
				r := NewRenderer(func(string, string, *session.ToolResult) session.Display {
					return session.Display{Kind: kind, Verb: "Edit", Target: target, Facts: []string{"exit 1", "212 lines", "3.1s"}}
				})
				rows := r.Rows(b, Options{Width: width})
				if !strings.Contains(plain(rows[:1]), want) {
					t.Fatalf("%s in state %d at %d columns: %q does not name %s", kind, state, width, plain(rows[:1]), want)
				}
			}
		}
	}
}

var moreLines = regexp.MustCompile(`\+(\d+) lines?( above)? · ctrl\+o`)

func TestTCARD02WhatIsLeftOutIsThereWhenExpanded(t *testing.T) {
	t.Parallel()
	for n := range 14 {
		text := strings.Repeat("a line that is too long for a narrow window and takes two rows of it\n", n) + "end"
		for _, kind := range []session.DisplayKind{session.ShowCommand, session.ShowFiles, session.ShowMatches, session.ShowJob} {
			r := NewRenderer(func(string, string, *session.ToolResult) session.Display {
				return session.Display{Kind: kind, Verb: "X", Target: "t", Text: text}
			})
			b := &Block{Kind: Call, State: Done}
			short := slices.Clone(r.Rows(b, Options{Width: 60}))
			long := r.Rows(b, Options{Width: 60, Expanded: true})
			left := 0
			if m := moreLines.FindStringSubmatch(plain(short)); m != nil {
				left, _ = strconv.Atoi(m[1])
				short = short[:len(short)-1]
			}
			if len(long) != len(short)+left {
				t.Errorf("%s, %d lines: %d rows and +%d, but %d when expanded", kind, n, len(short), left, len(long))
			}
			if got := strings.ReplaceAll(strings.ReplaceAll(plain(long[1:]), "\n", ""), " ", ""); got != strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), " ", "") {
				t.Errorf("%s: expanded it is %q", kind, got)
			}
		}
	}
}

func TestLongPromptIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	p := project((&script{now: 1}).prompt(strings.TrimRight(strings.Repeat("line\n", 50), "\n")).events)
	if got := plain(picture(p, Options{})); !strings.HasSuffix(got, "\n  line\n  +30 lines · ctrl+o") {
		t.Errorf("%s", got)
	}
	if got := len(picture(p, Options{Expanded: true})); got != 50 {
		t.Errorf("%d rows when expanded", got)
	}
}

func TestTUI08DiffLeavesContextNeutralAndCountsChanges(t *testing.T) {
	t.Parallel()
	theme := NewTheme(Terminal{})
	var lines []string
	for i := range 8 {
		lines = append(lines, fmt.Sprint(" context ", i), fmt.Sprint("-old ", i), fmt.Sprint("+new ", i))
	}
	d := session.Display{Kind: session.ShowDiff, Verb: "Edit", Target: "a.go", Diffs: []session.FileDiff{{Hunks: []session.Hunk{{OldStart: 1, NewStart: 1, Lines: lines}}}}}
	r := NewRenderer(func(string, string, *session.ToolResult) session.Display { return d })
	b := &Block{Kind: Call, State: Done}
	rows := r.Rows(b, Options{Theme: theme})
	for _, row := range rows[1:] {
		for word, styles := range map[string][]Style{"context": {theme.Dim}, "old": {theme.Dim, theme.Removed, theme.RemovedWord}, "new": {theme.Dim, theme.Added, theme.AddedWord}} {
			if !strings.Contains(plain([]string{row}), word) {
				continue
			}
			for _, seq := range sgr.FindAllString(row, -1) {
				if seq != reset && !slices.Contains(styles, Style(seq[2:len(seq)-1])) {
					t.Errorf("%q in %q", seq, row)
				}
			}
		}
	}
	if last := plain(rows[len(rows)-1:]); last != "    +10 changed lines · ctrl+o" {
		t.Errorf("the card ends with %q", last)
	}
}

func TestWordsThatChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, other, want string }{
		{"func Expired() bool", "func Expired(now time.Time) bool", ""},
		{"func Expired(now time.Time) bool", "func Expired() bool", "now time.Time"},
		{"a := one + two", "a := one * two", "+"},
		{"a b c d e f g", "a x c d y f g", "b|e"},
		{"今の時刻を使う", "渡された時刻を使う", "今の"},
		{"same", "same", ""},
		{"nothing alike here", "something else", ""},
		{"", "x", ""},
		{strings.Repeat("w ", 500) + "x y", strings.Repeat("w ", 500) + "z y", "x"},
	} {
		var got []string
		for _, s := range changed(c.line, c.other) {
			got = append(got, c.line[s.from:s.to])
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%.20q from %.20q: %q, want %q", c.line, c.other, got, c.want)
		}
	}
}

func everything() *Projection {
	p := &Projection{}
	p.Apply(states().events...)
	q := append(kinds().events, notices().events...)
	for i := range q {
		q[i].Seq = 1000 + i
	}
	p.Apply(q...)
	return p
}

// colour is an SGR parameter that sets one.
var colour = regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])[;m]`)

func TestTCOL01NoColorMeansNone(t *testing.T) {
	t.Parallel()
	p := everything()
	for _, term := range []Terminal{{NoColor: true}, {NoColor: true, Background: Dark, Colors: 1 << 24}} {
		for _, row := range picture(p, Options{Theme: NewTheme(term), Expanded: true}) {
			if colour.MatchString(row) {
				t.Errorf("a colour in %q", row)
			}
		}
	}
	golden(t, "no-color", escaped(picture(project(flaky().events), Options{Theme: NewTheme(Terminal{NoColor: true})})))
}

func escaped(rows []string) string {
	return strings.ReplaceAll(strings.Join(rows, "\n"), "\x1b", "\\e") + "\n"
}

func TestTCOL02TintsOnlyWhenTheBackgroundIsKnown(t *testing.T) {
	t.Parallel()
	tint := regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?4[0-8][;m]`)
	for _, c := range []struct {
		term Terminal
		want bool
	}{
		{Terminal{}, false}, {Terminal{Colors: 1 << 24}, false}, {Terminal{Background: Dark, Colors: 256}, false},
		{Terminal{Background: Dark, Colors: 1 << 24}, true}, {Terminal{Background: Light, Colors: 1 << 24}, true},
	} {
		all := strings.Join(picture(everything(), Options{Theme: NewTheme(c.term), Expanded: true}), "\n")
		if got := tint.MatchString(all); got != c.want {
			t.Errorf("%+v: tinted %v", c.term, got)
		}
		for _, seq := range []string{"30", "37", "97", "107"} { // black and white are the background of somebody
			if strings.Contains(all, "\x1b["+seq+"m") {
				t.Errorf("%+v: style %s", c.term, seq)
			}
		}
	}
	p := project(flaky().events)
	for name, term := range map[string]Terminal{"ansi": {}, "dark": {Background: Dark, Colors: 1 << 24}, "light": {Background: Light, Colors: 1 << 24}} {
		golden(t, "colors-"+name, escaped(picture(p, Options{Theme: NewTheme(term)})))
	}
}

// rgb is a colour of the 256.
func rgb(t *testing.T, style Style) [3]float64 {
	parts := strings.Split(string(style), ";")
	n, err := strconv.Atoi(parts[len(parts)-1])
	if err != nil || n < 16 {
		t.Fatalf("%q is not one of the fixed colours", style)
	}
	if n >= 232 {
		v := float64(8 + 10*(n-232))
		return [3]float64{v, v, v}
	}
	level := func(v int) float64 { return []float64{0, 95, 135, 175, 215, 255}[v] }
	n -= 16
	return [3]float64{level(n / 36), level(n / 6 % 6), level(n % 6)}
}

func luminance(c [3]float64) (l float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 255
		if v <= 0.03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		l += weight * v
	}
	return l
}

func TestTCOL03EveryColourCanBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		theme      *Theme
		background [3]float64
	}{"dark": {&dark, [3]float64{30, 30, 30}}, "light": {&light, [3]float64{255, 255, 255}}} {
		for role, style := range map[string]Style{"dim": c.theme.Dim, "accent": c.theme.Accent, "ok": c.theme.OK, "error": c.theme.Error,
			"attention": c.theme.Attention, "added": c.theme.Added, "removed": c.theme.Removed} {
			a, b := luminance(rgb(t, style)), luminance(c.background)
			want := 4.5
			if role == "dim" || role == "ok" || role == "error" || role == "attention" { // glyphs and what is secondary
				want = 3
			}
			if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); contrast < want {
				t.Errorf("%s on %s has a contrast of %.1f, want %.1f", role, name, contrast, want)
			}
		}
	}
}

func TestTUI10NothingStandsBesideWhatIsCopied(t *testing.T) {
	t.Parallel()
	code := "func main() {\n\tprintln(\"x\")\n}"
	s := (&script{now: 1}).prompt("x").answer(llm.TextBlock("Look:\n\n```go\n" + code + "\n```\n"))
	all := plain(picture(project(s.events), Options{}))
	if !strings.Contains(all, "\n"+termtext.Expand(code)+"\n") && !strings.HasSuffix(all, "\n"+termtext.Expand(code)) {
		t.Errorf("the code is not as it was in\n%s", all)
	}
	for _, row := range strings.Split(plain(picture(everything(), Options{Expanded: true})), "\n") {
		if i := strings.IndexFunc(row, func(r rune) bool { return r >= 0x2500 && r < 0x2580 || r == 0xa0 }); i >= 0 {
			t.Errorf("a box or a no-break space in %q", row)
		}
	}
}

func TestASCIIGlyphs(t *testing.T) {
	t.Parallel()
	for _, row := range picture(everything(), Options{Theme: NewTheme(Terminal{ASCII: true}), Expanded: true, Width: 40}) {
		if bare := strings.Map(func(r rune) rune {
			if r == '␤' { // a line feed in a command: text, not ours
				return -1
			}
			return r
		}, row); strings.IndexFunc(bare, func(r rune) bool { return r > 0x7e }) >= 0 {
			t.Errorf("%q", row)
		}
	}
	for _, g := range [][]string{glyphs.Spin, asciiGlyphs.Spin, {glyphs.You, glyphs.OK, glyphs.Failed, glyphs.Refused, glyphs.NotRun, glyphs.Steer, glyphs.Thought, glyphs.Cut, asciiGlyphs.Cut}} {
		for _, s := range g {
			if termtext.Width(s) != 1 {
				t.Errorf("%q is %d columns", s, termtext.Width(s))
			}
		}
	}
}

func TestG05RowsFitWhateverTheWidth(t *testing.T) {
	t.Parallel()
	p := everything()
	for width := 1; width < 150; width += 7 {
		for _, expanded := range []bool{false, true} {
			checkRows(t, picture(p, Options{Width: width, Expanded: expanded, Now: 99_000}), width)
		}
	}
}

func FuzzTCARD03Rows(f *testing.F) {
	f.Add("Bash", hostile, "exit 1", "a\tb\r\nc\x1b[1m", uint(40), uint(2))
	f.Add("", "", "", "", uint(0), uint(0))
	f.Add("Edit", "a/b", "+1 -1", "-x\n+y\n z\n-\xff\n+👩‍💻", uint(9), uint(1))
	kinds := []session.DisplayKind{session.ShowText, session.ShowDiff, session.ShowCommand, session.ShowFiles, session.ShowMatches, session.ShowJob, session.ShowTodo, session.ShowImage, "?"}
	f.Fuzz(func(t *testing.T, verb, target, fact, text string, width, pick uint) {
		d := session.Display{Kind: kinds[pick%9], Verb: verb, Target: target, Facts: []string{fact, text}, Text: text,
			Diffs: []session.FileDiff{{Path: target, Hunks: []session.Hunk{{OldStart: int(pick), Lines: strings.Split(text, "\n")}}}, {Path: text}}}
		r := NewRenderer(func(string, string, *session.ToolResult) session.Display { return d })
		o := Options{Width: int(1 + width%150), Expanded: pick%2 == 0, Output: text, Now: int64(pick)}
		result := (&script{}).result(call("c", "x", ""), fact, text, nil).events[0].Data
		for _, b := range []Block{{Kind: Call, State: State(pick % uint(Plain)), result: result, Args: text, Name: fact}, {Kind: User, Text: text}, {Kind: Thought, Text: text},
			{Kind: Notice, State: State(pick % uint(Plain)), Text: text, Detail: fact, Tokens: 2}, {Kind: End, State: Warning, Text: fact}} {
			checkRows(t, r.Rows(&b, o), o.Width)
		}
		closed := closeJSON(text)
		if json.Valid([]byte(text)) && closed != text {
			t.Errorf("whole arguments %q became %q", text, closed)
		}
	})
}

func TestE11WhoIsAskedSeesTheWholeCommand(t *testing.T) {
	t.Parallel()
	command := "ls " + strings.Repeat("very/long/path ", 9) + "\u2063; \x1b[8mrm -rf ~\x1b[0m\rls\nsecond line"
	r := NewRenderer(func(string, string, *session.ToolResult) session.Display {
		return session.Display{Kind: session.ShowCommand, Verb: "Bash", Target: command}
	})
	for _, width := range []int{12, 40, 80, 400} {
		rows := r.Rows(&Block{Kind: Call, State: Asked}, Options{Width: width, Expanded: true})
		checkRows(t, rows, width)
		squeeze := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
		want := squeeze(termtext.Line("ls "+strings.Repeat("very/long/path ", 9)+"\u2063; \x1b[8mrm -rf ~\x1b[0m\rls") + "second line")
		if got := squeeze(plain(rows[1:])); got != want {
			t.Errorf("at %d columns the body is %q, want %q", width, got, want)
		}
	}
}
