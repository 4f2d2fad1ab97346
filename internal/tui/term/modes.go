package term

// The modes that are on while the program owns the terminal.
const (
	pasteOn, pasteOff = "\x1b[?2004h", "\x1b[?2004l"
	focusOn, focusOff = "\x1b[?1004h", "\x1b[?1004l"

	// Kitty's "disambiguate" flag: Esc, and keys with modifiers that have no bytes of
	// their own, come as sequences.
	kittyPush, kittyPop = "\x1b[>1u", "\x1b[<u"

	// xterm's modifyOtherKeys, for those that do not speak the former.
	otherKeysOn, otherKeysOff = "\x1b[>4;1m", "\x1b[>4m"
)

// modesOn and modesOff are what every way in and every way out writes.
func (e Env) modesOn() string {
	if !e.Chords {
		return pasteOn + focusOn
	}
	return pasteOn + focusOn + otherKeysOn + kittyPush
}

func (e Env) modesOff() string {
	if !e.Chords {
		return focusOff + pasteOff
	}
	return focusOff + kittyPop + otherKeysOff + pasteOff
}
