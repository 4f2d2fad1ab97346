package term

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Title sets the window's title; "" gives the old one back, as does every way out.
func (t *Terminal) Title(s string) {
	s = oneLine(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == t.title {
		return
	}
	switch {
	case s == "":
		t.raw = append(t.raw, oldTitle...)
	case t.title == "":
		t.raw = append(t.raw, pushTitle...)
		fallthrough
	default:
		t.raw = append(t.raw, setTitle(s)...)
	}
	t.title = s
	t.wakeWriter()
}

// Terminals keep a stack of titles; those that do not get an empty one back.
const (
	pushTitle = "\x1b[22;0t"
	oldTitle  = "\x1b]0;\a\x1b[23;0t"
)

func setTitle(s string) string { return "\x1b]0;" + s + "\a" }

// Progress is the state of the bar some terminals show in their tab.
type Progress int

// Special values of Progress; 0 to 100 is a share done.
const (
	ProgressOff     Progress = -1
	ProgressRunning Progress = -2 // of unknown length
)

// Progress shows progress where the terminal is known to understand it. Every way out
// takes it off.
func (t *Terminal) Progress(p Progress) {
	if !t.env.Progress {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p == t.progress {
		return
	}
	t.progress = p
	t.raw = append(t.raw, p.sequence()...)
	t.wakeWriter()
}

func (p Progress) sequence() string {
	switch {
	case p == ProgressRunning:
		return "\x1b]9;4;3\a"
	case p < 0:
		return "\x1b]9;4;0\a"
	}
	return "\x1b]9;4;1;" + strconv.Itoa(min(int(p), 100)) + "\a"
}

// Notify rings the bell and shows text as a notification where the terminal can.
func (t *Terminal) Notify(text string) {
	text = oneLine(text)
	seq := "\a"
	switch t.env.Notice {
	case OSC9:
		if strings.HasPrefix(text, "4;") {
			text = " " + text // else it would be progress
		}
		seq += "\x1b]9;" + text + "\a"
	case OSC777:
		seq += "\x1b]777;notify;" + strings.ReplaceAll(text, ";", ",") + ";\a"
	}
	t.write(seq)
}

// Bell rings the bell.
func (t *Terminal) Bell() { t.write("\a") }

// maxCopy bounds what Copy takes, in bytes: terminals drop longer OSC 52 sequences
// (xterm's and tmux's limits are about 100,000 characters of base64).
const maxCopy = 74_994

// Copy hands text to the terminal's clipboard by OSC 52, from inside tmux also through
// it. Nothing says whether the terminal took it: do not claim that it did. Text that
// terminals would drop is an error.
func (t *Terminal) Copy(text string) error {
	if len(text) > maxCopy {
		return fmt.Errorf("copy %d bytes: terminals take at most %d: save it to a file instead", len(text), maxCopy)
	}
	seq := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	if t.env.Tmux {
		seq += "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	t.write(seq)
	return nil
}

// AskBackground asks the terminal for its background colour. The answer, if there is
// one, comes as a BackgroundMsg. Do not ask shortly before leaving: a late answer would
// land in the shell.
func (t *Terminal) AskBackground() { t.write("\x1b]11;?\a") }

// write queues a sequence for the terminal, outside the frames.
func (t *Terminal) write(seq string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw = append(t.raw, seq...)
	t.wakeWriter()
}

// maxLabel bounds titles and notifications, in runes.
const maxLabel = 200

// oneLine makes text safe inside an OSC sequence.
func oneLine(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > maxLabel {
			break
		}
		if unicode.IsControl(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
