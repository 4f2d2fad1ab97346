package term

import (
	"bytes"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// PasteMsg is pasted text, with line breaks as \n. It comes in one piece up to
// maxPaste. What it holds is foreign: it may contain controls.
type PasteMsg string

// decoder turns the terminal's bytes into messages. It never gives a part of a
// sequence or of a rune, and never drops text.
type decoder struct {
	buf     []byte // an unfinished sequence or rune
	pasting bool
	paste   []byte
}

// How long the decoder waits for the rest of what it has.
const (
	escWait   = 30 * time.Millisecond  // after Esc: a lone one, or the start of a sequence
	restWait  = 500 * time.Millisecond // after the start of a sequence or rune no person types
	pasteWait = 5 * time.Second        // for the end of a paste: half a paste must not be typed
)

// maxPaste bounds one PasteMsg, in bytes; a longer paste comes as several.
const maxPaste = 16 << 20

// maxSequence bounds a sequence. The longest are replies with the clipboard.
const maxSequence = 1 << 20

var pasteStart, pasteEnd = []byte("\x1b[200~"), []byte("\x1b[201~")

// patience is how long to wait for more bytes before feed(nil); negative without end.
func (d *decoder) patience() time.Duration {
	switch {
	case d.pasting:
		return pasteWait
	case len(d.buf) == 0:
		return -1
	case d.buf[0] == esc && len(d.buf) <= 2:
		return escWait
	}
	return restWait
}

// feed decodes b, the bytes of one read. Without bytes it decodes what it was holding,
// since no more will come.
func (d *decoder) feed(b []byte) []tea.Msg {
	final := len(b) == 0
	if d.pasting {
		return d.more(b, final)
	}
	b = append(d.buf, b...)
	d.buf = nil
	if n := burst(b); n > 0 {
		d.buf = append(d.buf, b[n:]...)
		return []tea.Msg{pasted(b[:n])}
	}
	var msgs []tea.Msg
	for len(b) > 0 {
		if bytes.HasPrefix(b, pasteStart) {
			d.pasting = true
			return append(msgs, d.more(b[len(pasteStart):], false)...)
		}
		n, msg := next(b, final || len(b) > maxSequence)
		if n == 0 {
			d.buf = append([]byte(nil), b...)
			break
		}
		if msg != nil {
			msgs = append(msgs, msg)
		}
		b = b[n:]
	}
	return msgs
}

// more takes bytes of a paste, and what follows its end.
func (d *decoder) more(b []byte, final bool) []tea.Msg {
	seen := max(0, len(d.paste)-len(pasteEnd))
	d.paste = append(d.paste, b...)
	at := bytes.Index(d.paste[seen:], pasteEnd)
	switch {
	case at >= 0:
		at += seen
		text, rest := d.paste[:at], d.paste[at+len(pasteEnd):]
		d.pasting, d.paste = false, nil
		msgs := []tea.Msg{pasted(text)}
		if len(rest) > 0 {
			msgs = append(msgs, d.feed(rest)...)
		}
		return msgs
	case final: // the end never came
		text := d.paste
		d.pasting, d.paste = false, nil
		return []tea.Msg{pasted(text)}
	case len(d.paste) > maxPaste:
		cut := len(d.paste) - len(pasteEnd)
		for cut > 0 && (!utf8.RuneStart(d.paste[cut]) || d.paste[cut-1] == '\r') {
			cut--
		}
		text := d.paste[:cut]
		d.paste = append([]byte(nil), d.paste[cut:]...)
		return []tea.Msg{pasted(text)}
	}
	return nil
}

func pasted(b []byte) tea.Msg {
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return PasteMsg(bytes.ReplaceAll(b, []byte("\r"), []byte("\n")))
}

// burst is the length of b if it must be a paste of a terminal that does not bracket
// them: text with a line break amid, in one read. Typed, the break would send the text
// before it. An unfinished rune at the end waits for its rest.
func burst(b []byte) int {
	end := len(b)
	for k := 1; k < utf8.UTFMax && k <= len(b); k++ {
		if c := b[len(b)-k]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-k:]) {
				end = len(b) - k
			}
			break
		}
	}
	for _, c := range b[:end] {
		if c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7f {
			return 0
		}
	}
	inner := bytes.Trim(b[:end], "\r\n")
	if bytes.ContainsAny(inner, "\r\n") {
		return end
	}
	return 0
}

// next decodes the first message of b: it takes n bytes, or none if b is not finished
// and more may come. The message is nil for what means nothing.
func next(b []byte, final bool) (n int, msg tea.Msg) {
	switch c := b[0]; {
	case c == esc:
		return escape(b, final)
	case c < ' ' || c == 0x7f:
		return 1, tea.KeyMsg{Type: tea.KeyType(c)}
	case c == ' ':
		return 1, tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return text(b, final)
}

// text takes a run of text, as input methods and fast typing send it.
func text(b []byte, final bool) (n int, msg tea.Msg) {
	var runes []rune
	for n < len(b) && b[n] > ' ' && b[n] != 0x7f {
		if !final && !utf8.FullRune(b[n:]) {
			break
		}
		r, size := utf8.DecodeRune(b[n:]) // U+FFFD for a byte that is no UTF-8
		runes = append(runes, r)
		n += size
	}
	if n == 0 {
		return 0, nil
	}
	return n, tea.KeyMsg{Type: tea.KeyRunes, Runes: runes}
}

// escape decodes what begins with Esc.
func escape(b []byte, final bool) (int, tea.Msg) {
	if len(b) == 1 {
		if !final {
			return 0, nil
		}
		return 1, tea.KeyMsg{Type: tea.KeyEscape}
	}
	switch b[1] {
	case '[':
		return bracket(b, final)
	case 'O':
		return ss3(b, final)
	case ']', 'P', '_', '^', 'X':
		return controlString(b, final)
	case esc:
		return escEsc(b, final)
	}
	return alt(b, final)
}

// alt decodes Esc and a key: alt and that key.
func alt(b []byte, final bool) (int, tea.Msg) {
	if b[1] > ' ' && b[1] != 0x7f {
		if !final && !utf8.FullRune(b[1:]) {
			return 0, nil
		}
		r, n := utf8.DecodeRune(b[1:])
		return 1 + n, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: true}
	}
	n, msg := next(b[1:2], true)
	return 1 + n, withAlt(msg)
}

// escEsc decodes two Escs: an Esc and what follows, unless it is a key that old
// terminals send after an Esc for alt.
func escEsc(b []byte, final bool) (int, tea.Msg) {
	if len(b) == 2 && !final {
		return 0, nil
	}
	if len(b) > 2 && (b[2] == '[' || b[2] == 'O') {
		n, msg := escape(b[1:], final)
		if n == 0 {
			return 0, nil
		}
		if _, key := msg.(tea.KeyMsg); key && n > 2 {
			return 1 + n, withAlt(msg)
		}
	}
	return 1, tea.KeyMsg{Type: tea.KeyEscape}
}

func withAlt(msg tea.Msg) tea.Msg {
	if k, ok := msg.(tea.KeyMsg); ok {
		k.Alt = true
		return k
	}
	return msg
}

// ss3 decodes the keys of the application modes: Esc O and a letter.
func ss3(b []byte, final bool) (int, tea.Msg) {
	if len(b) == 2 && !final {
		return 0, nil
	}
	if len(b) > 2 {
		if name, ok := letterKeys[b[2]]; ok {
			return 3, key(name, 0)
		}
		if b[2] == 'M' {
			return 3, key("enter", 0) // of the keypad
		}
	}
	return 2, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'O'}, Alt: true}
}

// bracket decodes a CSI sequence, Esc [.
func bracket(b []byte, final bool) (int, tea.Msg) {
	if len(b) > 2 && b[2] == '[' { // F1 to F5 of the Linux console
		if len(b) == 3 && !final {
			return 0, nil
		}
		if len(b) > 3 && b[3] >= 'A' && b[3] <= 'E' {
			return 4, key("f"+string(b[3]-'A'+'1'), 0)
		}
	}
	i := 2
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x40 {
		i++
	}
	switch {
	case i >= len(b) && !final:
		return 0, nil
	case i == 2 && (i >= len(b) || b[i] < 0x40 || b[i] > 0x7e):
		return 2, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'['}, Alt: true}
	case i >= len(b) || b[i] < 0x40 || b[i] > 0x7e: // broken off
		return i, ReplyMsg(b[:i])
	}
	return i + 1, sequenceMsg(string(b[2:i]), b[i], string(b[:i+1]))
}

// controlString decodes OSC, DCS and their kin: replies.
func controlString(b []byte, final bool) (int, tea.Msg) {
	for i := 2; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\a':
			return i + 1, reply(string(b[:i]), string(b[:i+1]))
		case c == esc && i+1 < len(b) && b[i+1] == '\\':
			return i + 2, reply(string(b[:i]), string(b[:i+2]))
		case c == esc && i+1 == len(b) && !final:
			return 0, nil
		case c < ' ': // no reply has controls: it was alt and a key, or it is broken off
			return brokenString(b, i)
		}
	}
	if !final {
		return 0, nil
	}
	return brokenString(b, len(b))
}

func brokenString(b []byte, end int) (int, tea.Msg) {
	if b[1] == ']' && end > 2 && b[2] >= '0' && b[2] <= '9' {
		return end, ReplyMsg(b[:end])
	}
	return alt(b, true)
}
