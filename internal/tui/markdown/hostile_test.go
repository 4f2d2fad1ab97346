package markdown

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// hostile are texts that would command a terminal or hide something.
var hostile = []string{
	"\x1b]52;c;ZWNobw==\a", "\x1b]0;title\x1b\\", "\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\", "\x1b[2J", "\x1b[1;1H", "\x1b[31mred", "\x1bPq\x1b\\", "\x1b_x\x1b\\", "\u009b31m", "\u009d0;x\u009c",
	"\a\b\v\f\x00\x7f", "a\rb", "\u202eevil\u202c", "\u2066x\u2069", "\u200b\u2060\ufeff", "\U000e0041\U000e0042", "&#x1b;]52;c;x&#7;", "&#27;[2J", "&#x9b;31m", "&#8238;x", "&#x200b;", "\\\x1b[2J", "\x9b\xff\xfe", "&Tab;&NewLine;x",
}

func TestNothingFromTheTextCommandsTheTerminal(t *testing.T) {
	t.Parallel()
	contexts := []string{"%s", "a %s b", "`%s`", "**%s**", "# %s", "- %s", "> %s", "```%s\n%s\n```", "    %s", "| %s | b |\n|---|---|\n| %s | d |", "[%s](http://x/%s \"%s\")", "![%s](%s)", "<http://x/%s>", "<b %s>", "[%s]: %s"}
	for _, h := range hostile {
		for _, c := range contexts {
			s := strings.ReplaceAll(c, "%s", h)
			for _, theme := range []Theme{{}, Mono(), Ansi()} {
				r := New(Options{Width: 40, Theme: theme})
				for i := range len(s) {
					r.Append(s[i : i+1])
					judge(t, s, r.Rows(), theme)
				}
				r.Finish()
				judge(t, s, r.Rows(), theme)
			}
		}
	}
}

// judge lets through only the styles of the theme.
func judge(t *testing.T, s string, rows []string, theme Theme) {
	t.Helper()
	for _, row := range rows {
		for rest := row; rest != ""; {
			seq, _, n, _ := ansi.DecodeSequence(rest, 0, nil)
			rest = rest[max(n, 1):]
			if strings.HasPrefix(seq, "\x1b") && (theme == Theme{} || !strings.HasPrefix(seq, "\x1b[") || strings.Trim(seq[2:], "0123456789;") != "m") {
				t.Fatalf("%q: row %q holds %q", s, row, seq)
			}
		}
		if strings.ContainsFunc(ansi.Strip(row), func(r rune) bool {
			return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r >= 0xe0000 && r < 0xe0080
		}) {
			t.Fatalf("%q: row %q holds what is not seen", s, row)
		}
	}
}

func TestG11NoColourWithoutColours(t *testing.T) {
	t.Parallel()
	text := strings.Join(snippets, "\n\n") + "\n\n```diff\n+a\n-b\n```\n[a](http://b)"
	for _, row := range Plain(text, 60) {
		if strings.Contains(row, "\x1b") {
			t.Errorf("plain row %q", row)
		}
	}
	for name, c := range map[string]struct {
		theme  Theme
		colour bool
	}{"mono": {Mono(), false}, "ansi": {Ansi(), true}} {
		seen := false
		for _, row := range Render(text, Options{Width: 60, Theme: c.theme}) {
			for code := 30; code <= 107; code++ {
				for _, form := range []string{"\x1b[%dm", "\x1b[%d;", ";%dm", ";%d;"} {
					if !strings.Contains(row, fmt.Sprintf(form, code)) {
						continue
					}
					seen = true
					if !c.colour || code < 31 || code > 36 || code == 33 { // no background, nothing that some screens do not show
						t.Errorf("%s: row %q has colour %d", name, row, code)
					}
				}
			}
		}
		if seen != c.colour {
			t.Errorf("%s: colours seen: %v", name, seen)
		}
	}
}

func TestTCOPY2NothingStandsBesideTheText(t *testing.T) {
	t.Parallel()
	for _, row := range Render(strings.Join(snippets, "\n\n"), Options{Width: 70, Theme: Ansi()}) {
		for _, r := range row {
			if r == 0xa0 || r >= 0x2500 && r < 0x2600 {
				t.Errorf("row %q holds %U", row, r)
			}
		}
	}
	code := "func main() {\n    if x {\n        y()\n    }\n}"
	rows := Render("text\n```go\n"+code+"\n```\n", Options{Width: 70, Theme: Ansi()})
	if got := ansi.Strip(strings.Join(rows[3:], "\n")); got != code {
		t.Errorf("the code on the screen is\n%s", got)
	}
}
