package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/term"
)

// fakeTerminal records what the model asks of the terminal.
type fakeTerminal struct {
	env     term.Env
	printed []string
	titles  []string
	bars    []term.Progress
	notes   []string
	copied  []string
	clears  int
	edited  *exec.Cmd

	mu   sync.Mutex
	sent []tea.Msg
	came chan struct{}
}

func (f *fakeTerminal) Env() term.Env            { return f.env }
func (f *fakeTerminal) Print(rows []string)      { f.printed = append(f.printed, rows...) }
func (f *fakeTerminal) Title(s string)           { f.titles = append(f.titles, s) }
func (f *fakeTerminal) Progress(p term.Progress) { f.bars = append(f.bars, p) }
func (f *fakeTerminal) Notify(text string)       { f.notes = append(f.notes, text) }
func (f *fakeTerminal) Copy(text string) error   { f.copied = append(f.copied, text); return nil }
func (f *fakeTerminal) Clear()                   { f.clears++ }
func (f *fakeTerminal) Suspend() tea.Cmd         { return nil }
func (f *fakeTerminal) Guard(g func()) func()    { return g }
func (f *fakeTerminal) AskBackground()           {}

func (f *fakeTerminal) Exec(cmd *exec.Cmd, done func(error) tea.Msg) tea.Cmd {
	f.edited = cmd
	return func() tea.Msg { return done(cmd.Run()) }
}

// Send takes messages of the model's goroutines; world.received hands them over.
func (f *fakeTerminal) Send(msg tea.Msg) {
	f.mu.Lock()
	f.sent = append(f.sent, msg)
	f.mu.Unlock()
	f.came <- struct{}{}
}

// noEvents is a log of which the test itself hands the events over.
type noEvents struct {
	old atomic.Pointer[[]session.Event]
}

func (e *noEvents) Next() []session.Event {
	if old := e.old.Swap(nil); old != nil {
		return *old
	}
	return nil
}
func (*noEvents) Wake() <-chan struct{} { return nil }
func (*noEvents) Close()                {}

// world is a screen over a session that the test plays.
type world struct {
	t    testing.TB
	m    *model
	term *fakeTerminal
	now  time.Time

	events []session.Event
	seen   int // events that the screen got
	turn   int
	step   int
	open   bool // a turn is open
	chunks []int
	calls  map[string]int // seq by id
	ids    int

	queue   []session.QueueItem
	running bool
	waits   []session.ApprovalRequest
	answers []session.Answer
	stops   int   // calls of Interrupt
	fails   error // of every method that sends

	jobs    []session.JobInfo
	outputs map[string]string // of jobs
	peeks   int               // calls of PeekJob
	moved   []string          // calls that were to go on in the background
	stopped []string          // jobs that were stopped
	closed  []string          // sessions that were closed
	presets []string
	changed []string // stored sessions, and how
}

type setup struct {
	env term.Env
	dir string // of history and drafts; "" makes one
	old []session.Event
}

var colours = term.Env{Depth: term.Color256, UTF8: true}

func newWorld(t testing.TB, o setup) *world {
	t.Helper()
	w := &world{t: t, calls: map[string]int{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	if o.env == (term.Env{}) {
		o.env = colours
	}
	if o.dir == "" {
		o.dir = t.TempDir()
	}
	w.term = &fakeTerminal{env: o.env, came: make(chan struct{}, 1000)}
	first := w.opened("11111111-2222-3333-4444-555555555555")
	if len(o.old) > 0 {
		first.Events.(*noEvents).old.Store(&o.old)
	}
	m, err := newModel(t.Context(), Options{
		First:   first,
		Open:    func(id string) (*Opened, error) { return w.opened(id), nil },
		Presets: []string{"read-only", "ask", "workspace"},
		Sessions: func() ([]session.Entry, error) {
			return []session.Entry{{ID: "99999999-2222-3333-4444-555555555555", Title: "Another", Cwd: "/home/shop", LastUse: w.now.UnixMilli()}}, nil
		},
		Rename:  func(id, title string) error { w.changed = append(w.changed, "rename "+id[:8]+" "+title); return nil },
		Delete:  func(id string) error { w.changed = append(w.changed, "delete "+id[:8]); return nil },
		Models:  func() []llm.ModelInfo { return []llm.ModelInfo{{Provider: "script", Name: "flash", Window: 64000}} },
		Present: present,
		Home:    "/home",
		History: filepath.Join(o.dir, "history.jsonl"),
		Drafts:  o.dir,
		Version: "1.2.3",
	}, w.term, func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	w.m = m
	w.events, w.seen = o.old, len(o.old)
	m.resize(100, 30) // before there is a session
	m.show(first)
	w.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	w.pump()
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) opened(id string) *Opened {
	if id == "" {
		id = session.NewID()
	}
	return &Opened{Agent: w, Events: &noEvents{}, Status: make(chan bool), Header: session.Header{ID: id, Cwd: "/home/shop"},
		Cwd: "/home/shop", Model: "script/flash", Preset: "ask", Handover: true,
		Files:    func(query string, n int) ([]string, string) { return []string{"main.go", "文档.md"}, "2 of 2" },
		SetModel: func(name, effort string) (string, error) { return name, nil },
		SetPreset: func(p string) error {
			if !slices.Contains([]string{"read-only", "ask", "workspace", "full"}, p) {
				return fmt.Errorf("unknown permission %q", p)
			}
			w.presets = append(w.presets, p)
			return nil
		},
		Rename: func(title string) error { w.add(session.Title{Title: title}); return nil },
		Close:  func() error { w.closed = append(w.closed, id); return nil },
	}
}

func (w *world) send(msg tea.Msg) {
	w.t.Helper()
	w.m.Update(msg)
	w.check()
}

// received hands over what the model's goroutines sent, n messages.
func (w *world) received(n int) {
	w.t.Helper()
	for range n {
		select {
		case <-w.term.came:
		case <-time.After(5 * time.Second):
			w.t.Fatal("nothing was sent to the model")
		}
	}
	w.term.mu.Lock()
	msgs := w.term.sent
	w.term.sent = nil
	w.term.mu.Unlock()
	for _, msg := range msgs {
		w.send(msg)
	}
}

// pump hands over the events that the screen has not got.
func (w *world) pump() {
	if evs := w.events[w.seen:]; len(evs) > 0 {
		w.seen = len(w.events)
		w.send(eventsMsg{w.m.life, evs})
	}
}

// wait lets time go by, with the ticks that the screen asked for.
func (w *world) wait(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= spinEvery {
		w.now = w.now.Add(min(d, spinEvery))
		if w.m.ticking {
			w.send(tickMsg(w.now))
		}
	}
}

var keyTypes = func() map[string]tea.KeyMsg {
	names := map[string]tea.KeyMsg{}
	for k := tea.KeyType(-100); k < 128; k++ {
		for _, alt := range []bool{false, true} {
			msg := tea.KeyMsg{Type: k, Alt: alt}
			if name := msg.String(); k != tea.KeyRunes && k != tea.KeySpace && name != "" {
				if _, ok := names[name]; !ok {
					names[name] = msg
				}
			}
		}
	}
	names["space"] = tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(" ")}
	return names
}()

// keyMsg is a key as the terminal sends it.
func keyMsg(name string) tea.Msg {
	if k, ok := keyTypes[name]; ok {
		return k
	}
	if rest, ok := strings.CutPrefix(name, "alt+"); ok && len([]rune(rest)) == 1 {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(rest), Alt: true}
	}
	if len([]rune(name)) == 1 {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
	}
	return term.Chord(name)
}

// press presses keys, one after another, and hands over what came of them.
func (w *world) press(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.send(keyMsg(name))
		w.pump()
		w.status()
	}
}

// typed types text, character by character.
func (w *world) typed(text string) {
	w.t.Helper()
	for _, r := range text {
		if r == ' ' {
			w.press("space")
		} else {
			w.press(string(r))
		}
	}
}

func (w *world) status() {
	if w.running != w.m.running {
		w.send(statusMsg{w.m.life, w.running})
	}
}

// frame is the live region without styles.
func (w *world) frame() string { return plain(w.m.Frame().Rows) }

// scroll is what was printed, without styles.
func (w *world) scroll() string { return plain(w.term.printed) }

var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

func plain(rows []string) string { return styles.ReplaceAllString(strings.Join(rows, "\n"), "") }

// check holds what is true of every frame.
func (w *world) check() {
	w.t.Helper()
	f := w.m.Frame()
	limit := max(1, w.m.height-keepAbove)
	if f.Alt {
		limit = w.m.height
	}
	if len(f.Rows) > limit {
		w.t.Fatalf("%d rows at %dx%d, want %d at most:\n%s", len(f.Rows), w.m.width, w.m.height, limit, plain(f.Rows))
	}
	for _, row := range f.Rows {
		if n := termtext.Width(row); n > max(0, w.m.width-1) {
			w.t.Fatalf("a row of %d columns at %dx%d: %q", n, w.m.width, w.m.height, row)
		}
		if strings.ContainsAny(styles.ReplaceAllString(row, ""), "\n\r\t\x1b") {
			w.t.Fatalf("a row with a control character: %q", row)
		}
	}
	if !f.Cursor.Hidden && len(f.Rows) > 0 && (f.Cursor.Row < 0 || f.Cursor.Row >= len(f.Rows) || f.Cursor.Col < 0 || f.Cursor.Col >= max(1, w.m.width)) {
		w.t.Fatalf("the cursor at %+v of %d rows, %dx%d", f.Cursor, len(f.Rows), w.m.width, w.m.height)
	}
}

func (w *world) shows(parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if !strings.Contains(w.frame(), part) {
			w.t.Errorf("no %q in\n%s", part, w.frame())
		}
	}
}

func (w *world) hides(parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if strings.Contains(w.frame(), part) {
			w.t.Errorf("%q in\n%s", part, w.frame())
		}
	}
}

// The log.

var appended = &session.SurfaceOp{}

func (w *world) add(data ...session.Payload) {
	for _, d := range data {
		ev := session.Event{Type: d.Type(), Seq: len(w.events), Time: w.now.UnixMilli(), Data: d}
		switch d := d.(type) {
		case session.InboxHeld:
			ev.Ignorable = true
		case session.UserMessage:
			ev.Surface = appended
		case session.ToolCall:
			w.calls[d.CallID] = ev.Seq
		case session.ToolResult:
			ev.Surface, ev.Sources = appended, []int{w.calls[d.Message.Source.CallID]}
		case session.AssistantChunk:
			w.chunks = append(w.chunks, ev.Seq)
		case session.RequestSent:
			w.chunks, ev.Ignorable = []int{}, true
		case session.AssistantMessage:
			ev.Surface, ev.Sources = appended, w.chunks
			w.chunks = []int{}
		}
		w.events = append(w.events, ev)
	}
}

func userMessage(id, text string) llm.Message {
	return llm.Message{Role: llm.User, ID: id, Source: llm.Source{Kind: llm.FromUser}, Content: []llm.Block{llm.TextBlock(text)}}
}

// startTurn claims the next prompt that is not held and sends it.
func (w *world) startTurn() {
	w.t.Helper()
	i := slices.IndexFunc(w.queue, func(it session.QueueItem) bool { return it.Target == session.NextTurn && !it.Held })
	if i < 0 {
		w.t.Fatal("no prompt waits")
	}
	it := w.queue[i]
	w.turn, w.step, w.open, w.running = w.turn+1, 0, true, true
	w.add(session.TurnStart{Turn: w.turn})
	w.splice(i, 1, "", nil)
	w.nextStep(userMessage(it.ID, it.Text))
}

// nextStep begins a step with what was steered, or the messages given.
func (w *world) nextStep(msgs ...llm.Message) {
	if w.step > 0 {
		w.add(session.StepEnd{Turn: w.turn, Step: w.step})
	}
	w.step++
	for i := 0; i < len(w.queue); {
		if it := w.queue[i]; it.Target == session.NextStep && !it.Held {
			w.splice(i, 1, "", nil)
			msgs = append(msgs, userMessage(it.ID, it.Text))
			continue
		}
		i++
	}
	w.add(session.StepStart{Turn: w.turn, Step: w.step})
	for _, m := range msgs {
		w.add(session.UserMessage{Message: m})
	}
	w.add(session.RequestSent{Turn: w.turn, Step: w.step, Attempt: 1})
	w.pump()
	w.status()
}

// prompt sends a prompt and begins its turn.
func (w *world) prompt(text string) {
	w.t.Helper()
	if _, err := w.Followup(text); err != nil {
		w.t.Fatal(err)
	}
	w.pump()
	w.startTurn()
}

func (w *world) chunk(c llm.Chunk) {
	w.add(session.AssistantChunk{Turn: w.turn, Step: w.step, Chunk: c})
}

// stream lets text of an answer arrive.
func (w *world) stream(text string) {
	if len(w.chunks) == 0 {
		w.chunk(llm.Chunk{Type: llm.BlockStart, BlockType: llm.Text})
	}
	w.chunk(llm.Chunk{Type: llm.TextDelta, Text: text})
	w.pump()
}

// answered settles what streamed.
func (w *world) answered(blocks ...llm.Block) {
	for i := range blocks {
		if i > 0 || len(w.chunks) == 0 {
			w.chunk(llm.Chunk{Type: llm.BlockStart, Index: i, BlockType: blocks[i].Type})
		}
		w.chunk(llm.Chunk{Type: llm.BlockEnd, Index: i, Block: &blocks[i]})
	}
	w.add(session.AssistantMessage{Turn: w.turn, Step: w.step, Message: llm.Message{Role: llm.Assistant, ID: w.id("a"), Source: llm.Source{Kind: llm.FromModel}, Content: blocks}})
	w.pump()
}

func (w *world) endTurn(reason session.EndReason) {
	w.add(session.StepEnd{Turn: w.turn, Step: w.step}, session.TurnEnd{Turn: w.turn, Reason: reason})
	w.open, w.running = false, false
	w.pump()
	w.status()
}

var completed = session.EndReason{Kind: session.Completed}

func (w *world) id(prefix string) string { w.ids++; return fmt.Sprint(prefix, w.ids) }

// call is a call of a tool whose arguments are its display; see present.
func toolCall(id string, d session.Display) llm.Block {
	args, _ := json.Marshal(d)
	return llm.Block{Type: llm.ToolCall, ID: id, Name: "tool", Arguments: string(args)}
}

func present(name, rawArgs string, r *session.ToolResult) session.Display {
	d := session.Display{Kind: session.ShowText, Verb: name, Target: rawArgs}
	_ = json.Unmarshal([]byte(rawArgs), &d)
	if r != nil && len(r.Message.Content) > 0 {
		d.Text = r.Message.Content[0].Content[0].Text
	}
	return d
}

func (w *world) take(c llm.Block) {
	w.add(session.ToolCall{Turn: w.turn, Step: w.step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments})
	w.pump()
}

func (w *world) result(c llm.Block, text string) {
	w.add(session.ToolResult{Turn: w.turn, Step: w.step, Message: llm.Message{Role: llm.User, ID: w.id("r"),
		Source:  llm.Source{Kind: llm.FromTool, CallID: c.ID},
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: c.ID, Content: []llm.Block{llm.TextBlock(text)}}}}})
	w.pump()
}

// asks puts a question about a call, which has been taken up.
func (w *world) asks(c llm.Block, d session.Decision) {
	var display session.Display
	_ = json.Unmarshal([]byte(c.Arguments), &display)
	id := w.id("ask")
	w.waits = append(w.waits, session.ApprovalRequest{ID: id, CallID: c.ID, Tool: c.Name, Display: display, Decision: d})
	w.add(session.ApprovalAsked{ID: id, ToolName: c.Name, CallID: c.ID})
	w.pump()
}

// The agent.

func (w *world) splice(at, remove int, outcome string, insert *session.QueueItem) {
	target := session.NextTurn
	if insert != nil {
		target = insert.Target
	}
	if remove > 0 {
		target = w.queue[at].Target
	}
	start := 0
	for i := range at {
		if w.queue[i].Target == target {
			start++
		}
	}
	ev := session.InboxSpliced{Target: target, Start: start, RemovedCount: remove, Outcome: outcome}
	var items []session.QueueItem
	if insert != nil {
		ev.Inserted = []llm.Message{userMessage(insert.ID, insert.Text)}
		items = append(items, *insert)
	}
	w.queue = slices.Replace(w.queue, at, at+remove, items...)
	w.add(ev)
}

func (w *world) insert(text string, target session.Target) (session.QueueItem, error) {
	if w.fails != nil {
		return session.QueueItem{}, w.fails
	}
	it := session.QueueItem{ID: w.id("m"), Target: target, Text: text, Source: llm.Source{Kind: llm.FromUser}}
	at := len(w.queue)
	if target == session.NextStep {
		at = slices.IndexFunc(w.queue, func(it session.QueueItem) bool { return it.Target == session.NextTurn })
		if at < 0 {
			at = len(w.queue)
		}
	}
	w.splice(at, 0, "", &it)
	return it, nil
}

func (w *world) Followup(text string) (session.QueueItem, error) {
	return w.insert(text, session.NextTurn)
}
func (w *world) Steer(text string) (session.QueueItem, error) {
	return w.insert(text, session.NextStep)
}

func (w *world) Interrupt() error {
	w.stops++
	var ids []string
	for _, it := range w.queue {
		ids = append(ids, it.ID)
	}
	return w.Hold(ids...)
}

func (w *world) hold(ids []string, held bool) error {
	var list []string
	for i := range w.queue {
		if it := &w.queue[i]; slices.Contains(ids, it.ID) && it.Held != held {
			it.Held = held
			list = append(list, it.ID)
		}
	}
	if len(list) > 0 {
		w.add(session.InboxHeld{IDs: list, Held: held})
	}
	return w.fails
}

func (w *world) Hold(ids ...string) error    { return w.hold(ids, true) }
func (w *world) Release(ids ...string) error { return w.hold(ids, false) }
func (w *world) Queue() []session.QueueItem  { return slices.Clone(w.queue) }
func (w *world) at(id string) int {
	return slices.IndexFunc(w.queue, func(it session.QueueItem) bool { return it.ID == id })
}

func (w *world) Replace(id, text string) (bool, error) {
	i := w.at(id)
	if i < 0 || w.fails != nil {
		return false, w.fails
	}
	it := w.queue[i]
	it.ID, it.Text = w.id("m"), text
	w.splice(i, 1, session.OutcomeCanceled, &it)
	return true, nil
}

func (w *world) Remove(id string) (bool, error) {
	i := w.at(id)
	if i < 0 || w.fails != nil {
		return false, w.fails
	}
	w.splice(i, 1, session.OutcomeCanceled, nil)
	return true, nil
}

func (w *world) Move(id string, to session.Target, at int) (bool, error) {
	i := w.at(id)
	if i < 0 || w.fails != nil {
		return false, w.fails
	}
	it := w.queue[i]
	w.splice(i, 1, session.OutcomeCanceled, nil)
	held := it.Held && it.Target == to
	it.Target, it.Held = to, false
	place := 0
	for place < len(w.queue) && (to == session.NextTurn && w.queue[place].Target == session.NextStep || w.queue[place].Target == to && at > 0) {
		if w.queue[place].Target == to {
			at--
		}
		place++
	}
	w.splice(place, 0, "", &it)
	if held {
		return true, w.Hold(id)
	}
	return true, nil
}

func (w *world) Waiting() []session.ApprovalRequest { return w.waits }

func (w *world) Decide(id string, answer session.Answer) error {
	i := slices.IndexFunc(w.waits, func(r session.ApprovalRequest) bool { return r.ID == id })
	if i < 0 {
		return errors.New("that question does not wait any more")
	}
	if w.fails != nil {
		return w.fails
	}
	w.waits = slices.Delete(slices.Clone(w.waits), i, i+1)
	w.answers = append(w.answers, answer)
	outcome := "allowed-once"
	if answer.Outcome == session.No {
		outcome = "rejected"
	}
	w.add(session.ApprovalDecided{ID: id, Outcome: outcome})
	return nil
}

func (w *world) Running() bool { return w.running }

func (w *world) Jobs() []session.JobInfo { return slices.Clone(w.jobs) }

func (w *world) PeekJob(id string, from int64) (text string, next int64) {
	w.peeks++
	out := w.outputs[id]
	return out[min(max(from, 0), int64(len(out))):], int64(len(out))
}

func (w *world) StopJob(id, _ string) error {
	i := slices.IndexFunc(w.jobs, func(j session.JobInfo) bool { return j.ID == id })
	if i < 0 {
		return errors.New("there is no such job")
	}
	w.stopped = append(w.stopped, id)
	w.jobs[i].Status, w.jobs[i].By = session.JobStopping, session.JobByUser
	return nil
}

func (w *world) Background(callID string) bool {
	w.moved = append(w.moved, callID)
	return w.fails == nil
}

// job starts a job.
func (w *world) job(id, label, output string) {
	kind, _, _ := strings.Cut(id, "-")
	w.jobs = append(w.jobs, session.JobInfo{ID: id, Kind: kind, Label: label, Status: session.JobRunning, Started: w.now.UnixMilli()})
	w.add(session.JobStarted{ID: id, Kind: kind, Label: label})
	w.prints(id, output)
	w.pump()
}

// prints adds to a job's output.
func (w *world) prints(id, output string) {
	if w.outputs == nil {
		w.outputs = map[string]string{}
	}
	w.outputs[id] += output
	i := slices.IndexFunc(w.jobs, func(j session.JobInfo) bool { return j.ID == id })
	w.jobs[i].Bytes = int64(len(w.outputs[id]))
}

// settles ends a job.
func (w *world) settles(end session.JobSettled) {
	i := slices.IndexFunc(w.jobs, func(j session.JobInfo) bool { return j.ID == end.ID })
	j := &w.jobs[i]
	end.Bytes = j.Bytes
	j.Status, j.Detail, j.By, j.Finished = end.Status, end.Detail, end.By, w.now.UnixMilli()
	w.add(end)
	w.pump()
}

func exited(id string, code int) session.JobSettled {
	return session.JobSettled{ID: id, Status: session.JobCompleted, Detail: fmt.Sprintf("exit code: %d", code)}
}
