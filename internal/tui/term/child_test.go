package term

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/sys/unix"
)

// The test binary plays the program on the terminal too, and the shell that starts it.
func TestMain(m *testing.M) {
	switch os.Getenv("DSH_TEST_ROLE") {
	case "program":
		os.Exit(program())
	case "shell":
		os.Exit(shell())
	}
	os.Exit(m.Run())
}

// demo shows what it got, and does what the keys say.
type demo struct {
	t      *Terminal
	seen   []string
	width  int
	ending bool
	panics bool
	wg     sync.WaitGroup
}

func (d *demo) Init() tea.Cmd { return nil }

func (d *demo) View() string { return "View is not called" }

func (d *demo) Frame() Frame {
	if d.panics {
		panic("in Frame")
	}
	if d.ending {
		return Frame{}
	}
	return Frame{Rows: []string{"> " + strings.Join(d.seen, " "), "status " + strconv.Itoa(d.width)}, Cursor: Cursor{Col: 2, Shape: Bar}}
}

func (d *demo) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	fail := func() tea.Msg { panic("in a command") }
	nothing := func() tea.Msg { return nil }
	name := fmt.Sprintf("%T", msg)
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		d.width = m.Width
		return d, nil
	case tea.KeyMsg:
		name = m.String()
	case Chord:
		name = string(m)
	case SignalMsg:
		name = m.Signal.String()
		if m.Signal != syscall.SIGINT && os.Getenv("DSH_TEST_DEAF") == "" {
			d.t.Print([]string{"ending for " + name})
			return d, tea.Quit
		}
	case PasteMsg:
		name = fmt.Sprintf("paste %q", string(m))
	case ResumeMsg:
		name = fmt.Sprintf("resumed %v", m.Stopped)
	case BackgroundMsg:
		name = fmt.Sprintf("background %d", m.Background())
	}
	d.seen = append(d.seen, "<"+name+">")
	switch name {
	case "q":
		d.ending = true
		return d, tea.Quit
	case "ctrl+z":
		return d, tea.Suspend
	case "n":
		for i := range 100 {
			d.t.Print([]string{fmt.Sprint("row ", i)})
		}
	case "t":
		d.t.Title("dsh: title")
		d.t.Progress(ProgressRunning)
	case "b":
		d.t.AskBackground()
	case "e":
		return d, d.t.Exec(exec.Command("sh", "-c", "echo edited; stty -a | grep -o -- '-*icanon'"), func(err error) tea.Msg { return fmt.Errorf("exec: %w", err) })
	case "U":
		panic("in Update")
	case "F":
		d.panics = true
	case "C":
		return d, fail
	case "B":
		return d, tea.Batch(nothing, tea.Sequence(nothing, fail))
	case "G":
		d.wg.Go(d.t.Guard(func() { panic("in a goroutine") }))
	}
	return d, nil
}

func program() int {
	// Bubble Tea's init must find a dumb terminal; see internal/early.
	env := Detect(func(name string) string {
		if name == "TERM" {
			return "xterm-256color"
		}
		return os.Getenv(name)
	})
	env.Progress = true
	t, err := Open(Options{Env: env})
	if err != nil {
		fmt.Println(err)
		return 3
	}
	d := &demo{t: t}
	_, err = t.Run(context.Background(), d)
	d.wg.Wait()
	var p *Panic
	if errors.As(err, &p) {
		fmt.Printf("caught: %v\n", p.Value)
		return 2
	}
	fmt.Printf("the end: %v\n", err)
	return 0
}

// shell starts the program as a shell would, in its own process group, and says when it
// stops. A line continues it.
func shell() int {
	signal.Ignore(syscall.SIGTTOU)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DSH_TEST_ROLE=program")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 3
	}
	pid := cmd.Process.Pid
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || !status.Stopped() {
			return status.ExitStatus()
		}
		foreground(os.Getpid())
		fmt.Print("shell: stopped\n")
		var line string
		_, _ = fmt.Scanln(&line)
		foreground(pid)
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

func foreground(pgrp int) { _ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, pgrp) }
