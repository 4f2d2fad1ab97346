package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// opened is a Terminal of this process on a pseudo terminal that nobody reads.
func opened(t *testing.T) (term *Terminal, master *os.File) {
	t.Helper()
	master, slave := openPTY(t, 80, 24)
	term, err := Open(Options{In: slave, Out: slave, Env: Env{Chords: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		term.Restore()
		_ = slave.Close()
		_ = master.Close()
	})
	return term, master
}

// readUntil reads what the terminal got, up to what.
func readUntil(t *testing.T, master *os.File, what string) string {
	t.Helper()
	var got bytes.Buffer
	b := make([]byte, 64<<10)
	if err := master.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(got.String(), what) {
		n, err := master.Read(b)
		if err != nil {
			t.Fatalf("no %q in %d bytes: %v", what, got.Len(), err)
		}
		got.Write(b[:n])
	}
	return got.String()
}

func TestASlowTerminalGetsTheNewestFrame(t *testing.T) {
	t.Parallel()
	term, master := opened(t)
	const frames = 2000
	for i := range frames { // far more than the pseudo terminal holds, and nobody reads
		term.Print([]string{fmt.Sprintf("printed %d.", i)})
		term.Draw(Frame{Rows: []string{fmt.Sprintf("live %d. %s", i, strings.Repeat("=", 60))}})
	}
	got := readUntil(t, master, fmt.Sprintf("live %d.", frames-1))
	if n := strings.Count(got, "live "); n > frames/2 {
		t.Errorf("%d of %d frames were written", n, frames)
	}
	for i, at := 0, 0; i < frames; i++ {
		next := strings.Index(got[at:], fmt.Sprintf("printed %d.", i))
		if next < 0 {
			t.Fatalf("row %d is missing or out of order", i)
		}
		at += next
	}
}

func TestG09AStuckTerminalHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	term, master := opened(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := term.Run(ctx, &counter{quitAt: -1})
		ended <- err
	}()
	readUntil(t, master, "0 messages.")
	term.Print([]string{strings.Repeat("x", 1<<20)}) // nobody reads any more
	term.Draw(Frame{Rows: []string{"live"}})
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Run waits for a terminal that takes no bytes")
	}
}

// counter counts messages, and the frames that were asked of it.
type counter struct {
	messages, frames, quitAt int
}

func (c *counter) Init() tea.Cmd { return nil }
func (c *counter) View() string  { return "" }

func (c *counter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(int); ok {
		c.messages++
	}
	if c.messages == c.quitAt {
		return c, tea.Quit
	}
	return c, nil
}

func (c *counter) Frame() Frame {
	c.frames++
	return Frame{Rows: []string{fmt.Sprintf("%d messages.", c.messages)}}
}

func TestFramesAreFewerThanMessagesAndEndWithTheLast(t *testing.T) {
	t.Parallel()
	term, master := opened(t)
	const messages = 20_000
	c := &counter{quitAt: -1}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := term.Run(ctx, c)
		ended <- err
	}()
	readUntil(t, master, "0 messages.")
	began := time.Now()
	for i := range messages {
		term.Send(i)
	}
	took := time.Since(began)
	readUntil(t, master, fmt.Sprintf("%d messages.", messages))
	cancel()
	go func() { _, _ = new(bytes.Buffer).ReadFrom(master) }()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	if most := 5 + int(took/(time.Second/60)); c.frames > most {
		t.Errorf("%d frames in %v", c.frames, took)
	}
}

func TestOpenRefusesWhatIsNoTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Open(Options{In: f, Out: f}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("%v", err)
	}
	master, slave := openPTY(t, 80, 24)
	defer master.Close()
	defer slave.Close()
	if _, err := Open(Options{In: slave, Out: slave, Env: Env{Dumb: true}}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("dumb: %v", err)
	}
}
