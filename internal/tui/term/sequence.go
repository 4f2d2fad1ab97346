package term

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// ReplyMsg is a sequence that is neither a key nor one of the replies below, whole: an
// answer to a question nobody asked, or a key nobody knows.
type ReplyMsg string

// BackgroundMsg is the terminal's background colour: the answer to AskBackground.
type BackgroundMsg struct{ R, G, B uint8 }

// Background is whether the colour is dark or light, by how bright it looks.
func (m BackgroundMsg) Background() Background {
	if 299*int(m.R)+587*int(m.G)+114*int(m.B) < 128*1000 {
		return Dark
	}
	return Light
}

// CursorMsg is where the terminal says the cursor is, from 1.
type CursorMsg struct{ Row, Col int }

// params are the numbers of a CSI sequence, each with its parts after colons.
type params []string

func (p params) num(i, part int) int {
	if i >= len(p) {
		return 0
	}
	parts := strings.Split(p[i], ":")
	if part >= len(parts) {
		return 0
	}
	n, err := strconv.Atoi(parts[part])
	if err != nil {
		return 0
	}
	return n
}

// mods are the modifiers in number i.
func (p params) mods(i int) mods { return mods(max(p.num(i, 0), 1)-1) & pressed }

// released says whether kitty reports that a key was let go.
func (p params) released() bool { return p.num(1, 1) == 3 }

// sequenceMsg is the message of "CSI body final", which as a whole is raw.
func sequenceMsg(body string, final byte, raw string) tea.Msg {
	if body != "" && body[0] == '<' && (final == 'M' || final == 'm') {
		return mouse(strings.Split(body[1:], ";"), final == 'm')
	}
	if strings.Trim(body, "0123456789;:") != "" {
		return ReplyMsg(raw)
	}
	p := params(strings.Split(body, ";"))
	switch {
	case p.released():
		return nil
	case body == "" && final == 'I':
		return tea.FocusMsg{}
	case body == "" && final == 'O':
		return tea.BlurMsg{}
	case final == 'R' && len(p) == 2 && (p.num(0, 0) != 1 || p.num(1, 0) > 8):
		return CursorMsg{p.num(0, 0), p.num(1, 0)} // else F3 with modifiers
	case final == 'u':
		return codeKey(p.num(0, 0), p.num(0, 1), p.mods(1))
	case final == '~' && p.num(0, 0) == 27 && len(p) == 3:
		return codeKey(p.num(2, 0), 0, p.mods(1))
	}
	if msg := namedSequence(p, body, final); msg != nil {
		return msg
	}
	return ReplyMsg(raw)
}

// namedSequence is the message of the keys with names.
func namedSequence(p params, body string, final byte) tea.Msg {
	name, m := "", p.mods(1)
	switch final {
	case '~':
		name = numberKeys[p.num(0, 0)]
	case '^': // rxvt
		name, m = numberKeys[p.num(0, 0)], ctrl
	case '@':
		name, m = numberKeys[p.num(0, 0)], ctrl|shift
	case 'Z':
		name, m = "tab", m|shift
	default:
		name = letterKeys[final]
		if rxvt := rxvtKeys[final]; rxvt != "" && body == "" {
			name, m = rxvt, shift
		}
	}
	if name == "" {
		return nil
	}
	return key(name, m)
}

// mouse is the message of an SGR mouse report.
func mouse(p params, release bool) tea.Msg {
	code := p.num(0, 0)
	m := tea.MouseMsg{X: p.num(1, 0) - 1, Y: p.num(2, 0) - 1, Shift: code&4 != 0, Alt: code&8 != 0, Ctrl: code&16 != 0}
	button := tea.MouseButton(code & 3)
	switch {
	case code&128 != 0:
		m.Button = tea.MouseButtonBackward + button
	case code&64 != 0:
		m.Button = tea.MouseButtonWheelUp + button
	case button == 3:
		m.Button = tea.MouseButtonNone
	default:
		m.Button = tea.MouseButtonLeft + button
	}
	switch {
	case code&32 != 0:
		m.Action = tea.MouseActionMotion
	case release && code&64 == 0:
		m.Action = tea.MouseActionRelease
	}
	return m
}

// reply is the message of a control string, given without and with its end.
func reply(body, raw string) tea.Msg {
	if color, ok := strings.CutPrefix(body, "\x1b]11;"); ok {
		if m, ok := parseColor(color); ok {
			return m
		}
	}
	return ReplyMsg(raw)
}

// parseColor reads "rgb:ffff/8080/00", with one to four digits each, also "rgba:".
func parseColor(s string) (BackgroundMsg, bool) {
	_, s, ok := strings.Cut(s, ":")
	parts := strings.Split(s, "/")
	if !ok || len(parts) < 3 {
		return BackgroundMsg{}, false
	}
	var rgb [3]uint8
	for i := range rgb {
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil || len(parts[i]) > 4 {
			return BackgroundMsg{}, false
		}
		full := uint64(1)<<(4*len(parts[i])) - 1
		rgb[i] = uint8(n * 255 / full)
	}
	return BackgroundMsg{rgb[0], rgb[1], rgb[2]}, true
}
