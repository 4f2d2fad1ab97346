package term

import (
	"strings"
	"testing"
)

func TestG11TheEnvironmentIsObeyed(t *testing.T) {
	t.Parallel()
	xterm := "TERM=xterm-256color LANG=de_DE.UTF-8"
	for _, c := range []struct {
		env  string
		want Env
	}{
		{"", Env{Dumb: true, Reflows: true, Chords: true}},
		{"TERM=dumb COLORTERM=truecolor", Env{Dumb: true, Reflows: true, Chords: true}},
		{xterm, Env{Depth: Color256, UTF8: true, Reflows: true, Chords: true}},
		{xterm + " NO_COLOR=1 COLORTERM=truecolor", Env{UTF8: true, Reflows: true, Chords: true}},
		{xterm + " NO_COLOR=", Env{Depth: Color256, UTF8: true, Reflows: true, Chords: true}},
		{xterm + " COLORTERM=truecolor CI=true", Env{Depth: TrueColor, UTF8: true, Reflows: true, Chords: true, CI: true}},
		{xterm + " LC_ALL=C CI=0", Env{Depth: Color256, Reflows: true, Chords: true}},
		{xterm + " COLORFGBG=15;0 SSH_TTY=/dev/pts/1", Env{Depth: Color256, UTF8: true, Reflows: true, Chords: true, Background: Dark, SSH: true}},
		{xterm + " COLORFGBG=0;default;15", Env{Depth: Color256, UTF8: true, Reflows: true, Chords: true, Background: Light}},
		{xterm + " COLORFGBG=0;what XTERM_VERSION=XTerm(390)", Env{Depth: Color256, UTF8: true, Chords: true}},
		{"TERM=linux LANG=C.UTF-8", Env{Depth: Color16}},
		{"TERM=tmux-256color TMUX=/tmp/x,1,0 TERM_PROGRAM=ghostty", Env{Depth: Color256, Reflows: true, Chords: true, Tmux: true}},
		{"TERM=screen-256color STY=1 COLORTERM=truecolor", Env{Depth: Color256, Chords: true}},
		{"TERM=screen", Env{Depth: Color256, Reflows: true, Chords: true}},
		{"TERM=xterm", Env{Depth: Color16, Reflows: true, Chords: true}},
		{"TERM=xterm-kitty", Env{Depth: TrueColor, Reflows: true, Chords: true, Notice: OSC9}},
		{"TERM=xterm-ghostty TERM_PROGRAM=ghostty", Env{Depth: TrueColor, Reflows: true, Chords: true, Notice: OSC9, Progress: true}},
		{"TERM=foot", Env{Depth: TrueColor, Reflows: true, Chords: true, Notice: OSC777}},
		{"TERM=xterm-256color WT_SESSION=1", Env{Depth: TrueColor, Reflows: true, Chords: true, Progress: true}},
	} {
		vars := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		if got := Detect(func(name string) string { return vars[name] }); got != c.want {
			t.Errorf("%s:\n%+v, want\n%+v", c.env, got, c.want)
		}
	}
}
