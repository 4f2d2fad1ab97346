package term

import (
	"strings"
	"testing"
)

// queued is what f queues for the terminal of env.
func queued(env Env, f func(t *Terminal)) string {
	t := &Terminal{env: env, progress: ProgressOff, work: make(chan struct{}, 1)}
	f(t)
	return string(t.raw)
}

func TestSequencesOutsideTheFrames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  Env
		do   func(t *Terminal)
		want string
	}{
		{"a title is set once, and given back", Env{}, func(t *Terminal) { t.Title("a\x1b\ab"); t.Title("a\x1b\ab"); t.Title("c"); t.Title("") },
			"\x1b[22;0t\x1b]0;a  b\a\x1b]0;c\a\x1b]0;\a\x1b[23;0t"},
		{"progress", Env{Progress: true}, func(t *Terminal) {
			t.Progress(ProgressRunning)
			t.Progress(ProgressRunning)
			t.Progress(140)
			t.Progress(ProgressOff)
		}, "\x1b]9;4;3\a\x1b]9;4;1;100\a\x1b]9;4;0\a"},
		{"no progress where it would be a notification", Env{}, func(t *Terminal) { t.Progress(ProgressRunning) }, ""},
		{"a bell", Env{}, func(t *Terminal) { t.Notify("done"); t.Bell() }, "\a\a"},
		{"OSC 9", Env{Notice: OSC9}, func(t *Terminal) { t.Notify("4;3") }, "\a\x1b]9; 4;3\a"},
		{"OSC 777", Env{Notice: OSC777}, func(t *Terminal) { t.Notify("a;b\n") }, "\a\x1b]777;notify;a,b ;\a"},
		{"a question", Env{}, func(t *Terminal) { t.AskBackground() }, "\x1b]11;?\a"},
		{"a copy", Env{}, func(t *Terminal) { _ = t.Copy("hi") }, "\x1b]52;c;aGk=\a"},
		{"a copy through tmux", Env{Tmux: true}, func(t *Terminal) { _ = t.Copy("hi") }, "\x1b]52;c;aGk=\a\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\"},
	} {
		if got := queued(c.env, c.do); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestACopyThatWouldBeDroppedIsAnError(t *testing.T) {
	t.Parallel()
	got := queued(Env{}, func(term *Terminal) {
		if err := term.Copy(strings.Repeat("x", maxCopy+1)); err == nil || !strings.Contains(err.Error(), "74994") {
			t.Errorf("%v", err)
		}
	})
	if got != "" {
		t.Errorf("queued %d bytes", len(got))
	}
}
