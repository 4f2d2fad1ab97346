package tui

import (
	"fmt"
	"slices"
	"strings"
)

// mode is what has the focus: exactly one thing at a time.
type mode uint16

const (
	inIdle     mode = 1 << iota // the composer, nothing runs
	inRunning                   // the composer, a turn runs
	inPopup                     // a completion above the composer's keys
	inSearch                    // the search of the history
	inApproval                  // a question about a call
	inList                      // a picker with a search field
	inQueue                     // the list of waiting messages
	inPager                     // the transcript
	inJobs                      // the jobs panel
	inLeaving                   // whether to leave, though jobs run
	inComposer = inIdle | inRunning
	inLists    = inList | inQueue
)

// binding is one action with the keys that do it. Help, hints and overrides all come
// from this table: what is not here has no key.
type binding struct {
	action string
	keys   []string
	modes  mode
	help   string // "" keeps it off the key list
}

// keymap is the table. Within one mode a key stands once; a test holds that.
var keymap = []binding{
	{"send", []string{"enter"}, inIdle, "send"},
	{"steer", []string{"enter"}, inRunning, "steer: joins the turn at its next step"},
	{"complete", []string{"tab"}, inIdle, "complete a path or command"},
	{"queue", []string{"tab"}, inRunning, "queue: its own turn, after this one"},
	{"newline", []string{"shift+enter", "alt+enter", "ctrl+j"}, inComposer, "new line (also \\ then enter)"},
	{"send-held", []string{"ctrl+s"}, inComposer, "send what waits, then the draft; a running turn is stopped first"},
	{"take-back", []string{"alt+up"}, inComposer, "take all waiting messages back"},
	{"escape", []string{"esc"}, inComposer | inPopup | inSearch, "close, interrupt, clear: one thing a press"},
	{"interrupt", []string{"ctrl+c"}, inComposer | inSearch | inPopup, "interrupt; idle: clear, then leave"},
	{"leave", []string{"ctrl+d"}, inComposer, "leave, when the draft is empty"},
	{"suspend", []string{"ctrl+z"}, inComposer | inPager | inLists | inApproval | inJobs | inLeaving, "suspend"},
	{"transcript", []string{"ctrl+o", "pgup"}, inComposer | inApproval | inJobs, "the whole conversation"},
	{"cycle-preset", []string{"shift+tab"}, inComposer, "next permission preset"},
	{"focus-approval", []string{"alt+a"}, inComposer, "answer what waits for you"},
	{"repaint", []string{"ctrl+l"}, inComposer | inPager | inLists | inApproval | inJobs | inLeaving, "repaint everything"},
	{"editor", []string{"ctrl+g"}, inComposer, "write in your editor"},
	{"search-history", []string{"ctrl+r"}, inComposer | inSearch, "search earlier prompts"},
	{"up", []string{"up", "ctrl+p"}, inComposer | inPopup | inLists | inJobs, "line up; earlier prompts"},
	{"down", []string{"down", "ctrl+n"}, inComposer | inPopup | inLists | inJobs, "line down; later prompts; the jobs"},
	{"background", []string{"ctrl+b"}, inComposer, "let the running command go on as a job"},
	{"todo", []string{"ctrl+t"}, inComposer, "the todo list"},
	{"keys", []string{"f1"}, inComposer, "this list (also ? on an empty draft)"},

	{"left", []string{"left"}, inComposer | inPopup, ""},
	{"right", []string{"right", "ctrl+f"}, inComposer | inPopup, ""},
	{"word-left", []string{"alt+b", "alt+left", "ctrl+left"}, inComposer, "word left"},
	{"word-right", []string{"alt+f", "alt+right", "ctrl+right"}, inComposer, "word right"},
	{"line-start", []string{"home", "ctrl+a"}, inComposer, "line start"},
	{"line-end", []string{"end", "ctrl+e"}, inComposer, "line end"},
	{"text-start", []string{"ctrl+home"}, inComposer, ""},
	{"text-end", []string{"ctrl+end"}, inComposer, ""},
	{"delete-back", []string{"backspace", "ctrl+h"}, inComposer | inPopup | inSearch, ""},
	{"delete", []string{"delete"}, inComposer | inPopup, ""},
	{"delete-word-back", []string{"ctrl+w", "alt+backspace"}, inComposer, "delete a word back"},
	{"delete-word", []string{"alt+d"}, inComposer, "delete a word"},
	{"kill-to-start", []string{"ctrl+u"}, inComposer, "delete to the line's start"},
	{"kill-to-end", []string{"ctrl+k"}, inComposer, "delete to the line's end"},
	{"yank", []string{"ctrl+y"}, inComposer, "bring back what was deleted"},
	{"yank-older", []string{"alt+y"}, inComposer, ""},
	{"undo", []string{"ctrl+_", "ctrl+-"}, inComposer, "undo"},
	{"redo", []string{"alt+_", "alt+-"}, inComposer, "redo"},
	{"expand-paste", []string{"alt+e"}, inComposer, "show the pasted text under the cursor"},

	{"accept", []string{"tab"}, inPopup, "take the chosen one"},
	{"accept-run", []string{"enter"}, inPopup, "take it; run a whole command"},
	{"accept-search", []string{"enter", "tab"}, inSearch, "take what was found"},

	{"answer-once", []string{"y", "1"}, inApproval, "yes, once"},
	{"answer-session", []string{"a", "2"}, inApproval, "yes, for this session"},
	{"answer-no", []string{"n", "4"}, inApproval, "no, go on without it"},
	{"answer-say", []string{"tab"}, inApproval, "no, and say what to do instead"},
	{"answer-stop", []string{"esc", "ctrl+c"}, inApproval, "no, and stop"},
	{"answer-chosen", []string{"enter"}, inApproval, "the highlighted answer"},
	{"choice-up", []string{"up"}, inApproval, ""},
	{"choice-down", []string{"down"}, inApproval, ""},

	{"choose", []string{"enter"}, inLists, "choose"},
	{"close", []string{"esc", "ctrl+c"}, inLists | inJobs, "close"},
	{"scope", []string{"tab"}, inList, "this folder, all folders"},
	{"session-rename", []string{"ctrl+r"}, inList, "rename the session"},
	{"session-delete", []string{"ctrl+d"}, inList, "delete the session: twice"},
	{"queue-remove", []string{"x"}, inQueue, "remove"},
	{"queue-steer", []string{"s"}, inQueue, "steer with it now"},
	{"queue-earlier", []string{"alt+up", "K"}, inQueue, "move it up"},
	{"queue-later", []string{"alt+down", "J"}, inQueue, "move it down"},

	{"job-output", []string{"enter"}, inJobs, "its whole output"},
	{"job-stop", []string{"x"}, inJobs, "stop it: twice"},
	{"job-mention", []string{"i"}, inJobs, "ask about it"},
	{"job-wait", []string{"w"}, inJobs, "say what to do when it ends"},
	{"job-filter", []string{"tab"}, inJobs, "all, running, finished"},
	{"leave-now", []string{"enter", "ctrl+c", "ctrl+d"}, inLeaving, "leave; the jobs are stopped"},
	{"stay", []string{"esc"}, inLeaving, "stay"},

	{"page-close", []string{"q", "esc", "ctrl+c", "ctrl+o"}, inPager, "close"},
	{"page-up", []string{"pgup", "b", "ctrl+b"}, inPager, "page up"},
	{"page-down", []string{"pgdown", "space", "ctrl+f"}, inPager, "page down"},
	{"page-line-up", []string{"up", "k"}, inPager, "line up"},
	{"page-line-down", []string{"down", "j"}, inPager, "line down"},
	{"page-top", []string{"g", "home"}, inPager, "first"},
	{"page-end", []string{"G", "end", "f"}, inPager, "last, and follow"},
	{"page-find", []string{"/"}, inPager, "find"},
	{"page-next", []string{"n"}, inPager, "next match"},
	{"page-previous", []string{"N"}, inPager, "match before"},
	{"page-fold", []string{"e"}, inPager, "everything open, or folded"},
	{"page-copy", []string{"y"}, inPager, "copy the block at the top"},
	{"page-editor", []string{"v"}, inPager, "open in your editor"},
}

// keys is the table with the user's changes, by mode and key.
type keys struct{ table []binding }

// newKeys applies overrides: action to keys. An unknown action, or a key that is
// taken in one of the action's modes, is an error that names both.
func newKeys(overrides map[string][]string) (*keys, error) {
	k := &keys{table: slices.Clone(keymap)}
	for action, to := range overrides {
		i := slices.IndexFunc(k.table, func(b binding) bool { return b.action == action })
		if i < 0 {
			return nil, fmt.Errorf("keys: there is no action %q; /keys lists them", action)
		}
		k.table[i].keys = to
	}
	return k, k.check()
}

// check reports a key that means two things in one mode.
func (k *keys) check() error {
	for i, a := range k.table {
		for _, b := range k.table[i+1:] {
			for _, key := range a.keys {
				if a.modes&b.modes != 0 && slices.Contains(b.keys, key) {
					return fmt.Errorf("keys: %s is bound to %s and to %s", key, a.action, b.action)
				}
			}
		}
	}
	return nil
}

// action is what a key does in a mode; "" nothing.
func (k *keys) action(m mode, key string) string {
	for _, b := range k.table {
		if b.modes&m != 0 && slices.Contains(b.keys, key) {
			return b.action
		}
	}
	return ""
}

// key is the first key of an action, for hints.
func (k *keys) key(action string) string {
	for _, b := range k.table {
		if b.action == action && len(b.keys) > 0 {
			return b.keys[0]
		}
	}
	return ""
}

// list is the key list of the help, a line each; named adds the name of the action,
// under which the settings know it.
func (k *keys) list(m mode, named bool) []string {
	var rows []string
	for _, b := range k.table {
		if b.help != "" && b.modes&m != 0 {
			row := fmt.Sprintf("%-26s %s", strings.Join(b.keys, ", "), b.help)
			if named {
				row += " · " + b.action
			}
			rows = append(rows, row)
		}
	}
	return rows
}
