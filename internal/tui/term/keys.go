package term

import (
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
)

// Chord is a key that Bubble Tea has no name for, such as "shift+enter",
// "ctrl+shift+p" or "ctrl+delete": modifiers in the order super, alt, ctrl, shift,
// letters in lower case.
type Chord string

// String is the chord's name, in the style of tea.KeyMsg's.
func (c Chord) String() string { return string(c) }

// mods are the modifiers of xterm's and kitty's keys.
type mods int

const (
	shift mods = 1 << iota
	altKey
	ctrl
	super
	hyper
	meta

	pressed = shift | altKey | ctrl | super | hyper | meta // the rest are locks
)

// named are the keys with names, and Bubble Tea's types for them plain, with shift,
// with ctrl, and with both. Zero: it has none.
var named = map[string][4]tea.KeyType{
	"up":        {tea.KeyUp, tea.KeyShiftUp, tea.KeyCtrlUp, tea.KeyCtrlShiftUp},
	"down":      {tea.KeyDown, tea.KeyShiftDown, tea.KeyCtrlDown, tea.KeyCtrlShiftDown},
	"right":     {tea.KeyRight, tea.KeyShiftRight, tea.KeyCtrlRight, tea.KeyCtrlShiftRight},
	"left":      {tea.KeyLeft, tea.KeyShiftLeft, tea.KeyCtrlLeft, tea.KeyCtrlShiftLeft},
	"home":      {tea.KeyHome, tea.KeyShiftHome, tea.KeyCtrlHome, tea.KeyCtrlShiftHome},
	"end":       {tea.KeyEnd, tea.KeyShiftEnd, tea.KeyCtrlEnd, tea.KeyCtrlShiftEnd},
	"pgup":      {tea.KeyPgUp, 0, tea.KeyCtrlPgUp},
	"pgdown":    {tea.KeyPgDown, 0, tea.KeyCtrlPgDown},
	"insert":    {tea.KeyInsert},
	"delete":    {tea.KeyDelete},
	"enter":     {tea.KeyEnter},
	"tab":       {tea.KeyTab, tea.KeyShiftTab},
	"esc":       {tea.KeyEscape},
	"backspace": {tea.KeyBackspace, tea.KeyBackspace},
	"space":     {tea.KeySpace, tea.KeySpace},
	"f1":        {tea.KeyF1}, "f2": {tea.KeyF2}, "f3": {tea.KeyF3}, "f4": {tea.KeyF4},
	"f5": {tea.KeyF5}, "f6": {tea.KeyF6}, "f7": {tea.KeyF7}, "f8": {tea.KeyF8},
	"f9": {tea.KeyF9}, "f10": {tea.KeyF10}, "f11": {tea.KeyF11}, "f12": {tea.KeyF12},
	"f13": {tea.KeyF13}, "f14": {tea.KeyF14}, "f15": {tea.KeyF15}, "f16": {tea.KeyF16},
	"f17": {tea.KeyF17}, "f18": {tea.KeyF18}, "f19": {tea.KeyF19}, "f20": {tea.KeyF20},
}

// letterKeys end "CSI 1 ; mods letter" and "SS3 letter".
var letterKeys = map[byte]string{
	'A': "up", 'B': "down", 'C': "right", 'D': "left", 'H': "home", 'F': "end",
	'P': "f1", 'Q': "f2", 'R': "f3", 'S': "f4", 'Z': "tab",
}

// rxvtKeys are its arrows with shift.
var rxvtKeys = map[byte]string{'a': "up", 'b': "down", 'c': "right", 'd': "left"}

// numberKeys begin "CSI number ; mods ~".
var numberKeys = map[int]string{
	1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pgup", 6: "pgdown", 7: "home", 8: "end",
	11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9",
	21: "f10", 23: "f11", 24: "f12", 25: "f13", 26: "f14", 28: "f15", 29: "f16",
	31: "f17", 32: "f18", 33: "f19", 34: "f20",
}

// codeKeys are the codes of "CSI code ; mods u" that stand for keys with names.
var codeKeys = map[int]string{
	9: "tab", 13: "enter", 27: "esc", 32: "space", 127: "backspace",
	57414: "enter", 57417: "left", 57418: "right", 57419: "up", 57420: "down",
	57421: "pgup", 57422: "pgdown", 57423: "home", 57424: "end", 57425: "insert", 57426: "delete",
}

// keypad are kitty's codes for the characters of the keypad, from 57399 on.
const keypad = "0123456789./*-+"

// The private area of Unicode where kitty numbers its keys.
const kittyFirst, kittyLast = 57344, 63743

// key is the message of a key with a name.
func key(name string, m mods) tea.Msg {
	types, i := named[name], 0
	if m&shift != 0 {
		i++
	}
	if m&ctrl != 0 {
		i += 2
	}
	if m&^(shift|altKey|ctrl) == 0 && types[i] != 0 {
		k := tea.KeyMsg{Type: types[i], Alt: m&altKey != 0}
		if k.Type == tea.KeySpace {
			k.Runes = []rune{' '}
		}
		return k
	}
	if name == "space" && m&^altKey == ctrl {
		return tea.KeyMsg{Type: tea.KeyCtrlAt, Alt: m&altKey != 0}
	}
	return chord(name, m)
}

func chord(name string, m mods) Chord {
	var b strings.Builder
	for _, mod := range []struct {
		on   mods
		name string
	}{{super | hyper | meta, "super+"}, {altKey, "alt+"}, {ctrl, "ctrl+"}, {shift, "shift+"}} {
		if m&mod.on != 0 {
			b.WriteString(mod.name)
		}
	}
	b.WriteString(name)
	return Chord(b.String())
}

// codeKey is the message of a key that came as a code point and modifiers. shifted is
// what it writes with shift, 0 if the terminal did not say.
func codeKey(code, shifted int, m mods) tea.Msg {
	if name, ok := codeKeys[code]; ok {
		return key(name, m)
	}
	if i := code - 57399; i >= 0 && i < len(keypad) {
		code = int(keypad[i])
	}
	if code < ' ' || code >= kittyFirst && code <= kittyLast || code > unicode.MaxRune {
		return nil // a key without a name, such as a modifier alone
	}
	r := unicode.ToLower(rune(code))
	switch {
	case m&(super|hyper|meta) != 0:
		return chord(string(r), m)
	case m&ctrl != 0:
		if control, ok := controlOf(r); ok && m&shift == 0 {
			return tea.KeyMsg{Type: control, Alt: m&altKey != 0}
		}
		return chord(string(r), m)
	case m&shift != 0:
		r = unicode.ToUpper(rune(code))
		if shifted > 0 && shifted <= unicode.MaxRune {
			r = rune(shifted)
		}
	default:
		r = rune(code)
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: m&altKey != 0}
}

// controlOf is the control character a terminal without these sequences sends for ctrl
// and r.
func controlOf(r rune) (tea.KeyType, bool) {
	switch {
	case r >= 'a' && r <= 'z', r == '@', r >= '[' && r <= '_':
		return tea.KeyType(r & 0x1f), true
	case r == '/':
		return tea.KeyCtrlUnderscore, true
	}
	return 0, false
}
