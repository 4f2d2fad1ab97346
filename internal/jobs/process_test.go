package jobs

import (
	"context"
	"testing"

	"dsh/internal/sandbox"
)

func TestEcho(t *testing.T) {
	l := &sandbox.Launcher{}
	tb := New(Options{Starter: l, OutDir: t.TempDir()})
	p, err := tb.Start(Command{Command: "echo hi; echo err >&2; (sleep 1000 & ); exit 3", Env: Environ(nil, "PATH=/usr/bin:/bin")})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Wait(context.Background())
	t.Logf("%+v %v", r, err)
	l.Close()
}
