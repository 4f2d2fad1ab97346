package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/loop"
	"dsh/internal/session"
)

// chat is a conversation line by line over one agent: what is typed while it works
// steers it, what is typed while it asks answers it.
type chat struct {
	s       streams
	o       engineOptions
	e       *engine
	view    *chatView
	tally   *tally // of the last turn, nil before the first
	reader  *session.Reader
	lines   <-chan typed
	signals <-chan os.Signal
	status  <-chan bool // of the agent, in order
	idle    chan struct{}
	done    chan error  // of a compaction
	reports chan string // of /doctor

	running   bool
	compact   bool            // a compaction that was asked for runs
	examining bool            // /doctor was asked for and runs
	asked     string          // id of the question on screen
	put       map[string]bool // questions whose events were printed
	asks      atomic.Int64    // questions that were put, for the lines' reader
	leaving   bool            // a ctrl+c came while nothing ran
	stopped   bool            // a ctrl+c ended the running turn
	unsent    error           // of the first line that was not sent
}

// newResumeCommand is the chat over a stored session.
func newResumeCommand(s streams) *cobra.Command {
	var o engineOptions
	cmd := &cobra.Command{
		Use:   "resume ID|PATH [PROMPT...]",
		Short: "Continue a session",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("resume needs a session: its id, a unique beginning of it, or a path"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.resume, o.flags["resume"] = args[0], true
			return talk(cmd.Context(), s, o, strings.Join(args[1:], " "))
		},
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.lines, "ax", false, "talk line by line: nothing is redrawn")
	return cmd
}

// chatPrompt is the first prompt of `dsh`, from its arguments. One word alone is a
// mistyped command, not a prompt that costs money.
func chatPrompt(cmd *cobra.Command, args []string) (string, error) {
	if dash := cmd.ArgsLenAtDash(); len(args) == 0 || dash == 0 || len(args) == 1 && strings.ContainsAny(args[0], " \t\n") {
		return strings.Join(args, " "), nil
	}
	return "", noCommand(cmd, args)
}

// runChat talks until the input ends or the user leaves. A person has seen how it went;
// a script is told by the exit code of its last turn.
func runChat(ctx context.Context, s streams, o engineOptions, prompt string) error {
	status := make(chan bool, 64)
	o.asks = isTerminal(s.in)
	o.onStatus = func(running bool) { status <- running }
	e, err := openEngine(s, o)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer signal.Stop(signals)
	c := &chat{s: s, o: o, e: e, view: newChatView(s, newCards(e.tools.Present)),
		reader: e.log.Reader(e.log.NextSeq()), signals: signals, status: status, idle: make(chan struct{}, 1), done: make(chan error, 1), reports: make(chan string, 1), put: map[string]bool{}}
	c.lines = readLines(s.in, &c.asks)
	defer c.reader.Close()
	c.greet()
	if prompt != "" {
		c.send(prompt)
	}
	got := c.loop(ctx)
	err = errors.Join(c.unsent, e.agent.Err())
	if closeErr := e.close(); err == nil {
		err = closeErr // otherwise it is most likely the same again
	}
	c.show()
	c.view.end()
	if len(e.waiting()) > 0 && !isTerminal(s.in) {
		fmt.Fprintln(s.err, "dsh: prompts that were not sent are kept with the session")
	}
	if e.log.NextSeq() > 0 {
		fmt.Fprintf(s.err, "session %s (dsh resume %[1]s)\n", shortID(e.log.Header().ID))
	}
	return c.verdict(got, err)
}

// verdict is what the conversation ends with: what a run of its last turn would.
func (c *chat) verdict(got os.Signal, err error) error {
	switch {
	case got != nil:
		return errors.Join(err, &exitError{code: exitSignal + int(got.(syscall.Signal))})
	case c.view.out.err != nil:
		return fmt.Errorf("write the conversation: %w", c.view.out.err)
	case err != nil || isTerminal(c.s.in) || c.tally == nil:
		return err
	}
	if code := c.tally.code(nil); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// show prints what has happened since it was last called.
func (c *chat) show() {
	events := c.reader.Next()
	for i := range events {
		switch p := events[i].Data.(type) {
		case session.TurnStart:
			c.tally = newTally("")
		case session.ApprovalAsked:
			c.put[p.ID] = true
		}
		if c.tally != nil {
			c.tally.apply(&events[i])
		}
	}
	c.view.events(events)
}

// tellKept says that the turn ended early and messages wait for the user's word.
func (c *chat) tellKept() {
	if !c.running && len(c.held()) > 0 {
		c.view.note("what you wrote meanwhile is kept and not sent: /send sends it, /drop removes it")
	}
}

func (c *chat) greet() {
	for _, note := range c.e.notes {
		c.view.note("dsh: " + note)
	}
	if n := len(c.e.waiting()); n > 0 {
		c.view.note("/send sends what is kept, /drop removes it")
	}
	if isTerminal(c.s.in) {
		c.view.note("dsh " + c.e.where() + " · /help for help, ctrl+d to leave")
	}
	c.view.prompt()
}

// loop is the conversation. It returns the signal that ended it, nil when the user
// left or nobody reads on. A person who ends the input leaves, also while a turn runs
// or asks something; the end of a file or a pipe waits for the turns that are under way.
func (c *chat) loop(ctx context.Context) os.Signal {
	lines := c.lines
	for c.view.out.err == nil {
		select {
		case line, ok := <-lines:
			if ok && !c.line(ctx, line) {
				continue
			}
			if lines = nil; isTerminal(c.s.in) || !c.busy() && !c.examining {
				return nil
			}
		case <-c.reader.Wake():
			c.show()
			c.ask()
		case c.running = <-c.status:
			c.stopped = false
			c.show()
			c.tellKept()
			if !c.running && !c.compact {
				go c.awaitIdle(ctx)
			}
		case text := <-c.reports:
			c.examining = false
			c.view.note(text)
			if c.busy() {
				continue
			}
			if lines == nil {
				return nil
			}
			c.view.prompt()
		case err := <-c.done:
			c.compacted(ctx, err)
		case <-c.idle:
			if c.busy() || c.examining {
				continue
			}
			if lines == nil {
				return nil
			}
			c.view.prompt()
		case sig := <-c.signals:
			switch {
			case sig == syscall.SIGPIPE: // the write has failed, which is enough
			case sig != os.Interrupt || !isTerminal(c.s.in):
				return sig // a script's next prompt does not expect that the last was cut off
			case c.interrupt():
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// awaitIdle says when the agent is idle, which it is a moment after its status says
// so. It ends with the agent at the latest.
func (c *chat) awaitIdle(ctx context.Context) {
	if c.e.agent.WhenIdle(ctx) != nil {
		return
	}
	select {
	case c.idle <- struct{}{}:
	default: // the loop has not looked yet
	}
}

// busy reports whether a turn or a compaction runs or is about to: the status may lag
// behind.
func (c *chat) busy() bool { return c.running || c.compact || c.e.agent.Running() }

// line is one line of input. done says that the user leaves. What was typed before the
// last question is thrown away: a line meant for something else must not approve.
func (c *chat) line(ctx context.Context, line typed) (done bool) {
	if line.asks < c.asks.Load() {
		return false
	}
	c.leaving = false
	text := strings.TrimSpace(line.text)
	switch {
	case c.asked != "":
		c.answer(text)
	case strings.HasPrefix(text, "/"):
		return c.command(ctx, text)
	case text != "":
		c.send(text)
	case !c.busy():
		c.view.prompt()
	}
	return false
}

// send steers a running turn with what a person types. The lines of a file or a pipe
// come all at once, and each has a turn of its own.
func (c *chat) send(text string) {
	send := c.e.agent.Followup
	if c.busy() && isTerminal(c.s.in) {
		send = c.e.agent.Steer
	}
	if _, err := send(text); err != nil {
		c.view.note("dsh: not sent: " + err.Error())
		if !isTerminal(c.s.in) {
			c.unsent = cmp.Or(c.unsent, err)
		}
	}
}

const chatHelp = `A line is a prompt; while dsh works, it joins the next step.
ctrl+c interrupts, ctrl+d interrupts and leaves. /compact [focus] replaces what was
said so far by a summary. /send sends the messages that were kept from an earlier run,
/drop removes them. /rename TITLE names this session, /fork [TURN] makes a new one of it
up to a turn, /export [FILE] writes it as Markdown or .json.
/jobs lists what runs in the background, /stop ID stops a job, /bg lets the running
command go on as one, /todo shows the model's plan.
/doctor checks this installation. /quit leaves.`

func (c *chat) command(ctx context.Context, text string) (done bool) {
	var err error
	name, args, _ := strings.Cut(text, " ")
	args = strings.TrimSpace(args)
	switch name {
	case "/compact":
		c.startCompaction(ctx, args)
		return false
	case "/doctor":
		c.startDoctor(ctx, args)
		return false
	case "/stop":
		c.stopJob(args)
		return false
	}
	if said, known, err := c.ofSession(name, args); known {
		if err != nil {
			said = "dsh: " + name + ": " + err.Error()
		}
		c.view.note(said)
		if !c.busy() {
			c.view.prompt()
		}
		return false
	}
	switch text {
	case "/quit", "/exit":
		return true
	case "/help":
		c.view.note(chatHelp)
	case "/jobs":
		c.view.note(jobsText(c.e.agent.Jobs(), time.Now()))
	case "/todo":
		c.view.note(todoText(c.e.log.State().Todos))
	case "/bg":
		if !c.e.agent.Background("") {
			c.view.note("no command runs that could go on in the background")
		}
	case "/send":
		err = c.e.agent.Release(c.held()...)
	case "/drop":
		for _, id := range c.held() {
			_, e := c.e.agent.Remove(id)
			err = errors.Join(err, e)
		}
	default:
		c.view.note(fmt.Sprintf("no command %s here: /help lists them (begin with a space to send it as a prompt)", text))
	}
	if err != nil {
		c.view.note("dsh: " + err.Error())
	}
	if !c.busy() {
		c.view.prompt()
	}
	return false
}

// ofSession runs the commands that are about the session as a whole.
func (c *chat) ofSession(name, args string) (said string, known bool, err error) {
	switch name {
	case "/rename":
		if err = c.e.rename(args); err == nil {
			said = "Renamed."
		}
	case "/fork":
		said, err = c.e.fork(c.s, args)
	case "/export":
		said, err = c.e.export(args)
	default:
		return "", false, nil
	}
	return said, true, err
}

// startCompaction runs beside the loop, which shows it and can interrupt it. Closing
// the agent ends it at the latest.
func (c *chat) startCompaction(ctx context.Context, focus string) {
	if c.busy() {
		c.view.note("dsh: /compact has to wait: ctrl+c stops what runs")
		return
	}
	c.compact = true
	go func() { c.done <- c.e.agent.Compact(ctx, focus) }()
}

// startDoctor runs beside the loop, which shows the report. Its checks have deadlines.
func (c *chat) startDoctor(ctx context.Context, args string) {
	if c.examining {
		c.view.note("dsh: /doctor is at it already")
		return
	}
	c.examining = true
	go func() {
		text, err := c.e.doctor(ctx, c.s, c.o, args)
		if err != nil {
			text = "dsh: " + err.Error()
		}
		c.reports <- text
	}()
}

func (c *chat) compacted(ctx context.Context, err error) {
	c.compact, c.stopped = false, false
	c.view.events(c.reader.Next())
	switch {
	case errors.Is(err, loop.ErrNothingToCompact):
		c.view.note(nothingToCompact)
	case err != nil:
		c.view.note("dsh: /compact: " + err.Error())
	}
	if !c.running { // else the status will say so
		go c.awaitIdle(ctx)
	}
}

const nothingToCompact = "There is nothing to compact yet."

func (c *chat) held() []string {
	var ids []string
	for _, item := range c.e.agent.Queue() {
		if item.Held {
			ids = append(ids, item.ID)
		}
	}
	return ids
}

// interrupt ends the turn, and the second in a row its commands without grace; while
// nothing runs, the second leaves.
func (c *chat) interrupt() (leave bool) {
	if c.busy() {
		if c.stopped {
			c.e.commands.table.Kill()
		}
		c.stopped = true
		if err := c.e.agent.Interrupt(); err != nil {
			c.view.note("dsh: " + err.Error())
		}
		c.asked = ""
		return false
	}
	if c.leaving {
		return true
	}
	c.leaving = true
	c.view.note("(ctrl+c again, or ctrl+d, to leave)")
	c.view.prompt()
	return false
}

// where says what this session works with, for the greeting.
func (e *engine) where() string {
	c := e.model
	return fmt.Sprintf("%s/%s in %s, permission %s", c.Provider, c.Model, e.cwd, e.preset)
}
