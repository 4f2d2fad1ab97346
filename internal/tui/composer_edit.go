package tui

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Action is what the caller of Key or Edit has to do.
type Action int

const (
	Ignored     Action = iota // no operation: the key means something to others, or nothing
	Done                      // the composer did it
	Send                      // send the text, then Reset
	HistoryPrev               // there is no row above: see Composer.Older
	HistoryNext               // there is no row below: see Composer.Newer
)

// edits are the operations by name.
var edits = map[string]func(*Composer) Action{
	"enter":            (*Composer).enter,
	"newline":          done((*Composer).Newline),
	"left":             done((*Composer).Left),
	"right":            done((*Composer).Right),
	"up":               (*Composer).upOrOlder,
	"down":             (*Composer).downOrNewer,
	"word-left":        done((*Composer).WordLeft),
	"word-right":       done((*Composer).WordRight),
	"line-start":       done((*Composer).LineStart),
	"line-end":         done((*Composer).LineEnd),
	"text-start":       done((*Composer).TextStart),
	"text-end":         done((*Composer).TextEnd),
	"delete-back":      done((*Composer).DeleteBack),
	"delete":           done((*Composer).Delete),
	"delete-word-back": done((*Composer).KillWordBack),
	"delete-word":      done((*Composer).KillWord),
	"kill-to-start":    done((*Composer).KillToStart),
	"kill-to-end":      done((*Composer).KillToEnd),
	"yank":             done((*Composer).Yank),
	"yank-older":       done((*Composer).YankOlder),
	"undo":             done(func(c *Composer) { c.Undo() }),
	"redo":             done(func(c *Composer) { c.Redo() }),
	"expand-paste":     done(func(c *Composer) { c.Expand() }),
}

// editKeys are the keys that the operations have unless a keymap says otherwise.
var editKeys = map[string]string{
	"enter":       "enter",
	"shift+enter": "newline", "alt+enter": "newline", "ctrl+j": "newline",
	"left": "left", "right": "right", "up": "up", "down": "down",
	"ctrl+p": "up", "ctrl+n": "down",
	"ctrl+a": "line-start", "home": "line-start", "ctrl+e": "line-end", "end": "line-end",
	"ctrl+home": "text-start", "ctrl+end": "text-end",
	"alt+b": "word-left", "ctrl+left": "word-left", "alt+f": "word-right", "ctrl+right": "word-right",
	"backspace": "delete-back", "ctrl+h": "delete-back", "delete": "delete", "ctrl+d": "delete",
	"ctrl+w": "delete-word-back", "alt+backspace": "delete-word-back", "alt+d": "delete-word",
	"ctrl+u": "kill-to-start", "ctrl+k": "kill-to-end",
	"ctrl+y": "yank", "alt+y": "yank-older",
	"ctrl+_": "undo", "ctrl+-": "undo", "alt+_": "redo",
	"alt+e": "expand-paste",
}

// EditKeys are the keys of the editing operations, by key: a copy, for a keymap to
// begin with.
func EditKeys() map[string]string { return maps.Clone(editKeys) }

// EditOps are the names of the operations that Edit knows, sorted.
func EditOps() []string { return slices.Sorted(maps.Keys(edits)) }

// Edit does an operation. An unknown one is Ignored.
func (c *Composer) Edit(op string) Action {
	if edit, ok := edits[op]; ok {
		return edit(c)
	}
	return Ignored
}

// Key does what a key of EditKeys means, or types the key if it is one character.
// Several characters at once are not a key: they go to Type.
func (c *Composer) Key(key string) Action {
	if op, ok := editKeys[key]; ok {
		return c.Edit(op)
	}
	if utf8.RuneCountInString(key) == 1 {
		c.Type(key)
		return Done
	}
	return Ignored
}

func done(edit func(*Composer)) func(*Composer) Action {
	return func(c *Composer) Action { edit(c); return Done }
}

// enter sends, or breaks the line if a backslash stands before the caret, which it
// replaces.
func (c *Composer) enter() Action {
	if !strings.HasSuffix(c.lines[c.cur.row][:c.cur.col], `\`) {
		return Send
	}
	c.begin(opOther)
	c.replace(place{c.cur.row, c.cur.col - 1}, c.cur, "\n", opOther)
	return Done
}

func (c *Composer) upOrOlder() Action {
	if c.up() {
		return Done
	}
	return HistoryPrev
}

func (c *Composer) downOrNewer() Action {
	if c.down() {
		return Done
	}
	return HistoryNext
}
