package term

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// names is msgs as a person would write them.
func names(msgs []tea.Msg) []string {
	var out []string
	for _, msg := range msgs {
		switch m := msg.(type) {
		case tea.KeyMsg:
			out = append(out, m.String())
		case Chord:
			out = append(out, "chord "+string(m))
		case PasteMsg:
			out = append(out, "paste "+string(m))
		case tea.MouseMsg:
			out = append(out, fmt.Sprintf("mouse %d,%d %s", m.X, m.Y, m))
		case BackgroundMsg:
			out = append(out, fmt.Sprintf("background %02x%02x%02x %d", m.R, m.G, m.B, m.Background()))
		case CursorMsg:
			out = append(out, fmt.Sprintf("cursor %d,%d", m.Row, m.Col))
		case ReplyMsg:
			out = append(out, "reply "+string(m))
		default:
			out = append(out, fmt.Sprintf("%T", msg))
		}
	}
	return out
}

// decodeAll decodes reads that follow each other, and then silence.
func decodeAll(reads ...string) []tea.Msg {
	var d decoder
	var msgs []tea.Msg
	for _, r := range reads {
		msgs = append(msgs, d.feed([]byte(r))...)
	}
	for d.patience() >= 0 {
		msgs = append(msgs, d.feed(nil)...)
	}
	return msgs
}

var decodings = []struct {
	in   string
	want []string
}{
	// Text and controls.
	{"a", []string{"a"}},
	{"你好世界", []string{"你好世界"}},
	{"ab c", []string{"ab", " ", "c"}},
	{"\r", []string{"enter"}},
	{"\n", []string{"ctrl+j"}},
	{"hello\r", []string{"hello", "enter"}},
	{"\x00\x01\x03\x1a\x1f\x7f\t", []string{"ctrl+@", "ctrl+a", "ctrl+c", "ctrl+z", "ctrl+_", "backspace", "tab"}},
	{"\xff\xfea", []string{"\ufffd\ufffda"}},
	{"👩‍👩‍👧é", []string{"👩‍👩‍👧é"}},

	// Esc, alone, with keys, twice.
	{"\x1b", []string{"esc"}},
	{"\x1b\x1b", []string{"esc", "esc"}},
	{"\x1bb", []string{"alt+b"}},
	{"\x1b\r", []string{"alt+enter"}},
	{"\x1b\x7f", []string{"alt+backspace"}},
	{"\x1b ", []string{"alt+ "}},
	{"\x1b好x", []string{"alt+好", "x"}},
	{"\x1b[", []string{"alt+["}},
	{"\x1bO", []string{"alt+O"}},
	{"\x1b]", []string{"alt+]"}},
	{"\x1bP", []string{"alt+P"}},
	{"\x1b]x\r", []string{"alt+]", "x", "enter"}},
	{"\x1b\x1b[A", []string{"alt+up"}},
	{"\x1b\x1bOA", []string{"alt+up"}},
	{"\x1b\x1bx", []string{"esc", "alt+x"}},

	// Keys with names.
	{"\x1b[A\x1b[B\x1b[C\x1b[D", []string{"up", "down", "right", "left"}},
	{"\x1bOA\x1bOH\x1bOP\x1bOM", []string{"up", "home", "f1", "enter"}},
	{"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~", []string{"home", "end", "home", "end", "home", "end"}},
	{"\x1b[2~\x1b[3~\x1b[5~\x1b[6~", []string{"insert", "delete", "pgup", "pgdown"}},
	{"\x1b[1;2A\x1b[1;3A\x1b[1;5A\x1b[1;6A\x1b[1;7A", []string{"shift+up", "alt+up", "ctrl+up", "ctrl+shift+up", "alt+ctrl+up"}},
	{"\x1b[1;5H\x1b[5;5~\x1b[3;3~", []string{"ctrl+home", "ctrl+pgup", "alt+delete"}},
	{"\x1b[3;5~\x1b[15;2~\x1b[1;5P", []string{"chord ctrl+delete", "chord shift+f5", "chord ctrl+f1"}},
	{"\x1b[1;129A\x1b[1;65B", []string{"up", "down"}}, // NumLock, CapsLock
	{"\x1b[Z\x1b[1;2Z", []string{"shift+tab", "shift+tab"}},
	{"\x1b[11~\x1b[24~\x1b[34~\x1b[[A\x1b[[E", []string{"f1", "f12", "f20", "f1", "f5"}},
	{"\x1b[a\x1b[5^\x1b[7@", []string{"shift+up", "ctrl+pgup", "ctrl+shift+home"}}, // rxvt
	{"\x1b[1;2R", []string{"chord shift+f3"}},

	// Kitty's keys.
	{"\x1b[13;2u\x1b[13;5u\x1b[13;3u\x1b[13u", []string{"chord shift+enter", "chord ctrl+enter", "alt+enter", "enter"}},
	{"\x1b[13;7u\x1b[13;9u", []string{"chord alt+ctrl+enter", "chord super+enter"}},
	{"\x1b[27u\x1b[27;5u", []string{"esc", "chord ctrl+esc"}},
	{"\x1b[99;5u\x1b[98;3u\x1b[106;5u", []string{"ctrl+c", "alt+b", "ctrl+j"}},
	{"\x1b[105;5u\x1b[9;2u\x1b[9;5u", []string{"tab", "shift+tab", "chord ctrl+tab"}},
	{"\x1b[112;6u\x1b[47;5u\x1b[45;5u", []string{"chord ctrl+shift+p", "ctrl+_", "chord ctrl+-"}},
	{"\x1b[32;5u\x1b[32;2u\x1b[127;3u\x1b[127;5u", []string{"ctrl+@", " ", "alt+backspace", "chord ctrl+backspace"}},
	{"\x1b[97;4u\x1b[97:65;4u\x1b[49:33;4u", []string{"alt+A", "alt+A", "alt+!"}},
	{"\x1b[99;133u", []string{"ctrl+c"}}, // with NumLock
	{"\x1b[99;5:1u\x1b[99;5:2u\x1b[99;5:3u", []string{"ctrl+c", "ctrl+c"}},
	{"\x1b[57399u\x1b[57414u\x1b[57419;5u\x1b[57441u", []string{"0", "enter", "ctrl+up"}}, // the last: shift alone

	// modifyOtherKeys.
	{"\x1b[27;2;13~\x1b[27;5;13~\x1b[27;6;80~\x1b[27;3;98~", []string{"chord shift+enter", "chord ctrl+enter", "chord ctrl+shift+p", "alt+b"}},

	// Focus, mouse, replies.
	{"\x1b[I\x1b[O", []string{"tea.FocusMsg", "tea.BlurMsg"}},
	{"\x1b[Ihello", []string{"tea.FocusMsg", "hello"}},
	{"\x1b[<64;10;20M\x1b[<65;1;1M", []string{"mouse 9,19 wheel up", "mouse 0,0 wheel down"}},
	{"\x1b[<0;3;4M\x1b[<0;3;4m\x1b[<32;3;4M", []string{"mouse 2,3 left press", "mouse 2,3 left release", "mouse 2,3 left motion"}},
	{"\x1b]11;rgb:ffff/ffff/ffff\x1b\\x", []string{"background ffffff 2", "x"}},
	{"\x1b]11;rgb:00/80/0\a", []string{"background 008000 1"}},
	{"\x1b]11;rgba:1e1e/1e1e/2e2e/ffff\a", []string{"background 1e1e2e 1"}},
	{"\x1b]11;what\a", []string{"reply \x1b]11;what\a"}},
	{"\x1b]52;c;aGk=\a", []string{"reply \x1b]52;c;aGk=\a"}},
	{"\x1bP1+r5463\x1b\\", []string{"reply \x1bP1+r5463\x1b\\"}},
	{"\x1b[24;80R\x1b[1;80R", []string{"cursor 24,80", "cursor 1,80"}},
	{"\x1b[?62;22c\x1b[?2026;2$y\x1b[?1u", []string{"reply \x1b[?62;22c", "reply \x1b[?2026;2$y", "reply \x1b[?1u"}},
	{"\x1b]11;rgb:ff", []string{"reply \x1b]11;rgb:ff"}}, // its end never comes
	{"\x1b[1;5", []string{"reply \x1b[1;5"}},
	{"\x1b[99\x1b[A", []string{"reply \x1b[99", "up"}},

	// Pastes.
	{"\x1b[200~a\r\nb\rc\n\x1b[201~x", []string{"paste a\nb\nc\n", "x"}},
	{"\x1b[200~\x03\x1b[A\t\x00y\x1b[201~", []string{"paste \x03\x1b[A\t\x00y"}},
	{"a\x1b[200~\x1b[201~b", []string{"a", "paste ", "b"}},
	{"\x1b[200~one\x1b[201~\x1b[200~two\x1b[201~", []string{"paste one", "paste two"}},
	{"\x1b[200~never ends", []string{"paste never ends"}},
	{"one\rtwo\r", []string{"paste one\ntwo\n"}}, // without brackets
	{"a\nb\r\nc", []string{"paste a\nb\nc"}},
	{"\x1b[201~", []string{"reply \x1b[201~"}},
}

func TestG06G08KeysPastesAndReplies(t *testing.T) {
	t.Parallel()
	for _, c := range decodings {
		if got := names(decodeAll(c.in)); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// TestSequencesMayBeCutAnywhere feeds what the table holds byte by byte. A paste
// without brackets is known by its one read, so it is left out.
func TestSequencesMayBeCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, c := range decodings {
		if strings.ContainsAny(strings.Trim(c.in, "\r\n"), "\r\n") && !strings.Contains(c.in, "\x1b[200~") {
			continue
		}
		want := flat(decodeAll(c.in))
		for cut := 1; cut < len(c.in); cut++ {
			if got := flat(decodeAll(c.in[:cut], c.in[cut:])); got != want {
				t.Errorf("%q cut at %d: %q, want %q", c.in, cut, got, want)
			}
		}
		if got := flat(decodeAll(strings.Split(c.in, "")...)); got != want && utf8.ValidString(c.in) {
			t.Errorf("%q byte by byte: %q, want %q", c.in, got, want)
		}
	}
}

// flat is msgs with runs of text as one, since a cut may fall amid one.
func flat(msgs []tea.Msg) string {
	var b strings.Builder
	text := false
	for i, name := range names(msgs) {
		k, ok := msgs[i].(tea.KeyMsg)
		now := ok && k.Type == tea.KeyRunes && !k.Alt
		if !now || !text {
			b.WriteByte('|')
		}
		b.WriteString(name)
		text = now
	}
	return b.String()
}

func TestFullReadsAndLongPastes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{255, 256, 257, 4096, 65536} {
		in := strings.Repeat("x", n)
		if got := decodeAll(in); len(got) != 1 || got[0].(tea.KeyMsg).String() != in {
			t.Errorf("%d bytes of text: %d messages", n, len(got))
		}
	}
	text := strings.Repeat("0123456789\r", 200_000)
	var reads []string
	for in := pasteStartEnd(text); in != ""; {
		n := min(len(in), 4095)
		reads, in = append(reads, in[:n]), in[n:]
	}
	got := decodeAll(reads...)
	if len(got) != 1 || string(got[0].(PasteMsg)) != strings.ReplaceAll(text, "\r", "\n") {
		t.Errorf("a paste of %d bytes came as %d messages", len(text), len(got))
	}
	wheel := strings.Repeat("\x1b[<65;100;20M", 30)
	if got := decodeAll(wheel); len(got) != 30 {
		t.Errorf("30 turns of the wheel came as %d messages", len(got))
	}
}

func pasteStartEnd(s string) string { return string(pasteStart) + s + string(pasteEnd) }

func TestAPasteBeyondTheBoundComesInPieces(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(strings.Repeat("漢字", 100)+"\r\n", maxPaste/600+5000)
	var d decoder
	var got strings.Builder
	pieces := 0
	in := pasteStartEnd(text)
	for len(in) > 0 {
		n := min(len(in), 1<<20)
		for _, msg := range d.feed([]byte(in[:n])) {
			got.WriteString(string(msg.(PasteMsg)))
			pieces++
		}
		in = in[n:]
	}
	if pieces < 2 || got.String() != strings.ReplaceAll(text, "\r\n", "\n") {
		t.Errorf("%d pieces, %d bytes of %d", pieces, got.Len(), len(text))
	}
}

func TestPatienceFitsWhatIsHeld(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{"": -1, "a": -1, "\x1b": escWait, "\x1b[": escWait, "\x1b[1;": restWait, "\x1b]11;rgb": restWait, "\x1b[200~x": pasteWait, "\xe4": restWait} {
		var d decoder
		if in != "" {
			d.feed([]byte(in))
		}
		if got := d.patience(); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

// FuzzDecode holds that nothing panics, that text comes out as it went in, however it
// is cut, and that the decoder ends by holding nothing.
func FuzzDecode(f *testing.F) {
	for _, c := range decodings {
		f.Add([]byte(c.in), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		cut = max(1, min(cut, len(in)))
		var reads []string
		for rest := in; len(rest) > 0; {
			n := min(cut, len(rest))
			reads, rest = append(reads, string(rest[:n])), rest[n:]
		}
		msgs := decodeAll(reads...)
		text := string(in)
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return
		}
		var got strings.Builder
		for _, msg := range msgs {
			got.WriteString(string(msg.(tea.KeyMsg).Runes))
		}
		if got.String() != text {
			t.Fatalf("%q came as %q", text, got.String())
		}
	})
}
