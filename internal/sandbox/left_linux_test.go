package sandbox

import (
	"strings"
	"testing"
)

// TestD01WhatACommandLeavesBehindEndsWithIt: the output and the exit code come at
// once, whoever holds the output open, and nothing lives on.
func TestD01WhatACommandLeavesBehindEndsWithIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		left    int // at least
	}{
		"background":          {`sleep 1000 & echo x`, 1},
		"background shell":    {`(while :; do sleep 0.1; done) & echo x`, 1},
		"nohup":               {`nohup sh -c 'sleep 1000; :' >/dev/null 2>&1 & disown; echo x`, 1},
		"setsid":              {`setsid sleep 1000 & echo x`, 1},
		"double fork":         {`(setsid sh -c 'sleep 1000 & sleep 1000 & wait' &) ; echo x`, 1},
		"stopped":             {`sleep 1000 & kill -STOP $!; echo x`, 1},
		"ignores TERM":        {`mkfifo "$W.2"; (trap '' TERM; echo r > "$W.2"; while :; do sleep 1000; done) & read r < "$W.2"; echo x`, 1},
		"daemon without TERM": {`mkfifo "$W.2"; (trap '' TERM; setsid sh -c 'echo r > "$W.2"; while :; do sleep 1000; done' &); read r < "$W.2"; echo x`, 1},
		"200":                 {`for i in $(seq 200); do sleep 1000 & done; echo x`, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWitness(t)
			out, exit := run(t, `exec 9>"$W"; `+c.command+`; exit 7`, w.env())
			if out != "x\n" || exit.Code != 7 || exit.Signal != 0 || exit.Stopped {
				t.Errorf("%q, %+v", out, exit)
			}
			if exit.Left < c.left || exit.Orphans != 0 {
				t.Errorf("%d left behind, want at least %d; %d orphans", exit.Left, c.left, exit.Orphans)
			}
			w.dead()
		})
	}
}

// TestD01ACommandThatLeavesNothingSaysSo guards the count against zombies and the
// like: a pipeline and a finished background job are not left behind.
func TestD01ACommandThatLeavesNothingSaysSo(t *testing.T) {
	t.Parallel()
	out, exit := run(t, `true & wait; seq 3 | tail -1`)
	if out != "3\n" || exit.Code != 0 || exit.Left != 0 {
		t.Errorf("%q, %+v", out, exit)
	}
}

// TestD01OutputOfTheDeadIsWhole: what descendants wrote until they ended is read,
// in order, and the reader is not kept waiting for the pipe.
func TestD01OutputOfTheDeadIsWhole(t *testing.T) {
	t.Parallel()
	out, exit := run(t, `trap 'echo bye; exit' TERM; (trap 'echo child bye; exit' TERM; mkfifo "$W"; echo r > "$W"; while :; do sleep 0.01; done) & while ! [ -p "$W" ]; do sleep 0.01; done; read r < "$W"; echo parent ends`,
		"W="+t.TempDir()+"/f")
	if !strings.HasPrefix(out, "parent ends\n") || !strings.HasSuffix(out, "child bye\n") || exit.Left == 0 {
		t.Errorf("%q, %+v", out, exit)
	}
}
