package term

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	tea "github.com/charmbracelet/bubbletea"
	xterm "golang.org/x/term"
)

// Options says which terminal to take, and how.
type Options struct {
	// In and Out are the terminal; nil means standard input and output.
	In, Out *os.File
	// Env is what Detect found out.
	Env Env
	// FPS bounds the frames a second; 0 means 60.
	FPS int
}

// Terminal is a terminal this program owns from Open to Restore. Its methods may be
// called from any goroutine.
type Terminal struct {
	in, out *os.File
	outFd   int
	env     Env
	fps     int
	cooked  *xterm.State

	ctx    context.Context // ends when the terminal is given back for good
	cancel context.CancelFunc
	once   sync.Once
	owned  sync.WaitGroup // the reader, the writer and the signal handler
	done   <-chan struct{}

	reader  *reader
	program atomic.Pointer[tea.Program]
	lending sync.Mutex // held while another program has the terminal
	leaving sync.Mutex // one way out or in at a time
	resumed chan struct{}
	stopped atomic.Bool // a stop of ours waits for SIGCONT

	pen  chan struct{} // held while bytes are composed and written
	work chan struct{}

	mu       sync.Mutex // guards what follows
	painter  painter
	staged   []string // printed since the last Draw
	printed  []string // waits for the terminal
	frame    Frame
	drawn    bool
	cleared  bool
	away     bool // the terminal is not ours at the moment
	raw      []byte
	scratch  []byte
	title    string
	progress Progress
	failure  error
}

// ErrNoTerminal says that input or output is no terminal, or one that cannot show
// frames: use plain lines.
var ErrNoTerminal = errors.New("not a terminal that can show a screen")

// Open takes the terminal: raw mode, the modes of modes.go, signals. Every way out
// must come by Restore.
func Open(o Options) (*Terminal, error) {
	t := &Terminal{in: o.In, out: o.Out, env: o.Env, fps: o.FPS,
		pen: make(chan struct{}, 1), work: make(chan struct{}, 1), resumed: make(chan struct{}, 1),
		progress: ProgressOff, painter: painter{reflows: o.Env.Reflows, fresh: true}}
	if t.in == nil {
		t.in = os.Stdin
	}
	if t.out == nil {
		t.out = os.Stdout
	}
	if t.fps <= 0 {
		t.fps = 60
	}
	if o.Env.Chords {
		t.painter.pushKeys, t.painter.popKeys = kittyPush, kittyPop
	}
	t.outFd = int(t.out.Fd())
	if o.Env.Dumb || !xterm.IsTerminal(int(t.in.Fd())) || !xterm.IsTerminal(t.outFd) {
		return nil, ErrNoTerminal
	}
	r, err := newReader(t.in)
	if err != nil {
		return nil, fmt.Errorf("wait for keys: %w", err)
	}
	t.reader = r
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.done = t.ctx.Done()
	if err := t.takeBack(); err != nil {
		r.close()
		return nil, err
	}
	t.owned.Go(t.writeLoop)
	t.owned.Go(t.watchSignals())
	return t, nil
}

// Env is what the terminal was opened with.
func (t *Terminal) Env() Env { return t.env }

// Size is the window's, in cells. A terminal that says 0 counts as 80x24.
func (t *Terminal) Size() (width, height int) {
	w, h, err := xterm.GetSize(t.outFd)
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// takeBack makes the terminal ours: at the start and whenever it was given away.
func (t *Terminal) takeBack() error {
	t.leaving.Lock()
	defer t.leaving.Unlock()
	if t.ctx.Err() != nil {
		return nil // it was restored meanwhile
	}
	state, err := xterm.MakeRaw(t.reader.fd)
	if err != nil {
		return fmt.Errorf("take the terminal's keys: %w", err)
	}
	if t.cooked == nil {
		t.cooked = state
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.away = false
	t.raw = append(append([]byte(nil), t.enter()...), t.raw...)
	t.wakeWriter()
	t.reader.resume()
	return nil
}

// enter is what a way in writes.
func (t *Terminal) enter() string {
	s := t.env.modesOn()
	if t.title != "" {
		s += pushTitle + setTitle(t.title)
	}
	if t.progress != ProgressOff {
		s += t.progress.sequence()
	}
	return s
}

// exit is what a way out writes, after the live region.
func (t *Terminal) exit() string {
	s := t.env.modesOff()
	if t.title != "" {
		s += oldTitle
	}
	if t.progress != ProgressOff {
		s += ProgressOff.sequence()
	}
	return s
}

// giveBack makes the terminal the shell's or another program's. The live region stays
// if it is kept, else it is erased.
func (t *Terminal) giveBack(keep bool) {
	t.leaving.Lock()
	defer t.leaving.Unlock()
	mine := t.takePen()
	t.mu.Lock()
	if t.away {
		t.mu.Unlock()
		if mine {
			<-t.pen
		}
		return
	}
	t.away = true
	b := append([]byte(nil), t.raw...)
	t.raw = nil
	b = t.painter.leave(b, keep)
	b = append(b, t.exit()...)
	t.mu.Unlock()
	if mine {
		t.writeLast(b)
		<-t.pen
	}
	t.reader.pause()
	t.reader.drain() // reports that were under way would be typed into the shell
	dropInput(t.reader.fd)
	_ = xterm.Restore(t.reader.fd, t.cooked) // fails only if the terminal is gone
}

// Restore gives the terminal back for good: what was drawn is written out, the live
// region stays above the cursor (draw an empty one before, if it should not), and every
// mode is as it was. It is the one way out, for the end of Run, panics and signals
// alike; calls after the first do nothing, and wait for it.
func (t *Terminal) Restore() {
	t.once.Do(func() {
		t.flush()
		t.giveBack(true)
		t.cancel()
		t.reader.close()
	})
}

// flush writes what is drawn, unless the terminal is stuck.
func (t *Terminal) flush() {
	if !t.takePen() {
		return
	}
	defer func() { <-t.pen }()
	t.mu.Lock()
	t.printed = append(t.printed, t.staged...)
	t.staged = nil
	if t.frame.Alt {
		t.frame = Frame{}
	}
	t.drawn = t.drawn || len(t.printed) > 0
	t.mu.Unlock()
	for more := true; more; {
		var b []byte
		b, more = t.compose()
		more = t.writeLast(b) && more
	}
}
