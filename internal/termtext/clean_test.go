package termtext

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestE08NothingRawReachesTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, clean, line string }{
		{"plain", "a b", "a b", "a b"},
		{"lines and tabs", "a\tb\nc", "a\tb\nc", "a b␤c"},
		{"CRLF", "a\r\nb", "a\nb", "a␤b"},
		{"hiding carriage return", "rm -rf ~\rls", "rm -rf ~␍ls", "rm -rf ~␍ls"},
		{"two carriage returns", "a\r\r\n", "a␍\n", "a␍␤"},
		{"colours", "\x1b[1;31mred\x1b[0m", "red", "␛[1;31mred␛[0m"},
		{"cursor moves", "a\x1b[2J\x1b[?25l\x1b[ qb", "ab", "a␛[2J␛[?25l␛[ qb"},
		{"clipboard", "\x1b]52;c;ZWNobw==\a.txt", "␛]52;c;ZWNobw==␇.txt", "␛]52;c;ZWNobw==␇.txt"},
		{"link", "\x1b]8;;http://x\x1b\\y", "␛]8;;http://x␛\\y", "␛]8;;http://x␛\\y"},
		{"DCS, APC, PM, SOS", "\x1bPa\x1b_b\x1b^c\x1bXd", "␛Pa␛_b␛^c␛Xd", "␛Pa␛_b␛^c␛Xd"},
		{"unterminated OSC hides nothing", "\x1b]0;title and the rest", "␛]0;title and the rest", "␛]0;title and the rest"},
		{"unterminated CSI", "a\x1b[12;3", "a␛[12;3", "a␛[12;3"},
		{"broken CSI", "a\x1b[1\nb", "a␛[1\nb", "a␛[1␤b"},
		{"endless CSI", "\x1b[" + strings.Repeat("1", maxCSI) + "m", "␛[" + strings.Repeat("1", maxCSI) + "m", "␛[" + strings.Repeat("1", maxCSI) + "m"},
		{"lone ESC", "\x1b", "␛", "␛"},
		{"ESC before a sequence", "\x1b\x1b[31mx", "␛x", "␛␛[31mx"},
		{"controls", "\x00\a\b\v\f\x7f", "␀␇␈␋␌␡", "␀␇␈␋␌␡"},
		{"C1", "\u009b31m\u0085", "�31m�", "<U+009B>31m<U+0085>"},
		{"raw C1 bytes", "\x9b31m\x90", "�31m�", "�31m�"},
		{"invalid UTF-8", "a\xff\xc3(\xe2\x82", "a��(��", "a��(��"},
		{"a real U+FFFD", "\ufffd", "\ufffd", "\ufffd"},
		{"line separators", "a\u2028b\u2029", "a\nb\n", "a␤b␤"},
	} {
		if got := Clean(c.in); got != c.clean {
			t.Errorf("%s: Clean(%q) = %q, want %q", c.name, c.in, got, c.clean)
		}
		if got := Line(c.in); got != c.line {
			t.Errorf("%s: Line(%q) = %q, want %q", c.name, c.in, got, c.line)
		}
	}
}

func TestE11HiddenTextIsShown(t *testing.T) {
	t.Parallel()
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u2060\u2063\ufeff\u00ad\u180e\u034f\u115f\u3164\uffa0\U000e0001\U000e0072\U000e01ff\ufff9\u200c\u200d\ufe0f" {
		in := "a" + string(r) + "b"
		if got := Clean(in); got != "a�b" {
			t.Errorf("Clean(%q) = %q", in, got)
		}
		if got := Line(in); !strings.HasPrefix(got, "a<U+") || !strings.HasSuffix(got, ">b") {
			t.Errorf("Line(%q) = %q", in, got)
		}
	}
	if got := Line("ls \u2063; touch P\U000e0072"); got != "ls <U+2063>; touch P<U+E0072>" {
		t.Errorf("%q", got)
	}
	if got := Clean("漢" + strings.Repeat("\U000e0101", 3)); got != "漢\U000e0101��" {
		t.Errorf("a run of selectors carries text: %q", got)
	}
}

func TestWritingOfTheWorldStays(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "naïve façade — “quotes” …", "漢字かなカナ 한국어", "日本\U000e0100語", "👩\u200d💻 ❤️\u200d🔥 🏳️\u200d🌈 1️⃣ #️⃣ ©️ 👍🏽", "می\u200cخواهم", "क्\u200dष", "\u0600\u0661", "e\u0301", "\ue0b0\u2800", "\ufffd",
	} {
		if got := Clean(s); got != s {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if got := Line(s); got != s {
			t.Errorf("Line(%q) = %q", s, got)
		}
	}
}

func TestCleanTextCostsNoAllocation(t *testing.T) {
	text := strings.Repeat("func main() {\n\tprintln(\"漢字 é 👩‍💻\")\n}\n", 50)
	if n := testing.AllocsPerRun(100, func() { Clean(text) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWriterWaitsForTheEndOfWhatIsCut(t *testing.T) {
	t.Parallel()
	var sb strings.Builder
	w := NewWriter(&sb)
	for _, step := range []struct{ in, out string }{
		{"a\x1b", "a"}, {"[3", ""}, {"1mb", "b"}, {"\r", ""}, {"\n", "\n"}, {"\r", ""}, {"x", "␍x"}, {"\xe6\xbc", ""}, {"\xa2", "漢"}, {"\x1b[", ""},
	} {
		sb.Reset()
		if n, err := w.Write([]byte(step.in)); n != len(step.in) || err != nil || sb.String() != step.out {
			t.Errorf("%q: %d, %v, wrote %q, want %q", step.in, n, err, sb.String(), step.out)
		}
	}
	sb.Reset()
	if err := w.Flush(); err != nil || sb.String() != "␛[" {
		t.Errorf("flush: %q, %v", sb.String(), err)
	}
}

type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) { b.writes++; return 0, errors.New("gone") }

func TestWriterStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	b := &broken{}
	w := NewWriter(b)
	for range 2 {
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("no error")
		}
	}
	if err := w.Flush(); err == nil || b.writes != 1 {
		t.Errorf("%v after %d writes", err, b.writes)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]52;c;x\a", "\x1b[", "\r\r\n", "\xe6\xbc", "❤️‍🔥", "漢\U000e0101\U000e0101", "a\u200d\u2028\x9b\u009b", "\x1b\x1b[m\n", "\u0300\x1b[m\u200d"} {
		f.Add(s, uint(1), uint(3))
	}
	f.Fuzz(func(t *testing.T, s string, cut, step uint) {
		for name, clean := range map[string]func(string) string{"Clean": Clean, "Line": Line} {
			got := clean(s)
			if !utf8.ValidString(got) || clean(got) != got {
				t.Fatalf("%s(%q) = %q, and again %q", name, s, got, clean(got))
			}
			prev := rune(0)
			for _, r := range got {
				kept := name == "Clean" && (r == '\n' || r == '\t')
				if r < ' ' && !kept || r >= 0x7f && r < 0xa0 || r >= 0x7f && hidden(r) && !joins(prev, r) ||
					r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r < 0xe0080 {
					t.Fatalf("%s(%q) = %q holds %U", name, s, got, r)
				}
				prev = r
			}
		}
		var sb strings.Builder
		w := NewWriter(&sb)
		for rest := s; rest != ""; {
			n := int(min(uint(len(rest)), cut%8+1))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest, cut = rest[n:], cut+step
			if len(w.pending) >= maxCSI {
				t.Fatalf("%d bytes wait", len(w.pending))
			}
		}
		if err := w.Flush(); err != nil || sb.String() != Clean(s) {
			t.Fatalf("streamed %q, whole %q", sb.String(), Clean(s))
		}
	})
}

func BenchmarkClean(b *testing.B) {
	for name, s := range map[string]string{"ascii": "some ordinary text of a line\n", "cjk": "普通の文章です。\n", "colours": "\x1b[32mok\x1b[0m  pkg\n"} {
		text := strings.Repeat(s, 1000)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Clean(text)
			}
		})
	}
}
