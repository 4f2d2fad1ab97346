package openai

import (
	"context"
	"fmt"
	"time"

	"dsh/internal/llm"
)

// Defaults of the timeouts in Options.
const (
	DefaultConnect  = 15 * time.Second
	DefaultIdle     = 120 * time.Second // without a byte; keep-alive comments count
	DefaultProgress = 660 * time.Second // with nothing but keep-alives: DeepSeek gives up after 600
)

// lastCallFor is how long a finished answer's connection may take to end by itself.
const lastCallFor = 100 * time.Millisecond

// watch ends a request that has gone quiet. Its two timers cancel the request's
// context with the failure as the cause.
type watch struct {
	ctx            context.Context
	cancel         context.CancelCauseFunc
	idle, progress *time.Timer
	idleFor        time.Duration
	progressFor    time.Duration
}

func newWatch(parent context.Context, host string, idle, progress time.Duration) *watch {
	w := &watch{idleFor: idle, progressFor: progress}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.idle = time.AfterFunc(idle, func() {
		w.cancel(timeout("%s sent nothing for %s", host, idle))
	})
	w.progress = time.AfterFunc(progress, func() {
		w.cancel(timeout("%s sent nothing but keep-alives for %s", host, progress))
	})
	return w
}

func timeout(format string, args ...any) *llm.Failure {
	return &llm.Failure{Code: llm.CodeTimeout, Message: fmt.Sprintf(format, args...)}
}

// touched tells that a byte came.
func (w *watch) touched() { w.idle.Reset(w.idleFor) }

// advanced tells that an event came.
func (w *watch) advanced() { w.progress.Reset(w.progressFor) }

// lastCall gives the connection a moment to end.
func (w *watch) lastCall() { w.idle.Reset(lastCallFor) }

// cause is why a read failed: the reason of the cancel if there was one.
func (w *watch) cause(err error) error {
	if c := context.Cause(w.ctx); c != nil {
		return c
	}
	return err
}

func (w *watch) stop() {
	w.idle.Stop()
	w.progress.Stop()
	w.cancel(context.Canceled)
}
