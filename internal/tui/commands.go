package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/transcript"
)

// builtin is a command of the screen itself.
type builtin struct {
	name, args, help string
	run              func(m *model, args string) tea.Cmd
}

// builtins are listed by /help in this order. Those that change the conversation
// wait for the turn to end; see busy.
var builtins []builtin

func init() {
	builtins = []builtin{
		{"help", "", "keys and commands", func(m *model, _ string) tea.Cmd { return m.help() }},
		{"keys", "", "all keys", func(m *model, _ string) tea.Cmd { m.showKeys(); return nil }},
		{"status", "", "session, model, context, permissions, instruction files", func(m *model, _ string) tea.Cmd { return m.showStatus() }},
		{"model", "[name] [effort]", "choose the model", (*model).chooseModel},
		{"effort", "[level]", "reasoning effort: off, low, high, max", (*model).setEffort},
		{"permissions", "[preset]", "what is allowed without asking", (*model).setPreset},
		{"resume", "[id]", "open another session", (*model).resume},
		{"new", "", "begin a new session", func(m *model, _ string) tea.Cmd { return m.openSession("") }},
		{"continue", "", "go on with an interrupted or failed turn", func(m *model, _ string) tea.Cmd { m.send("Continue.", m.open.Agent.Followup); return nil }},
		{"rename", "<title>", "name this session", (*model).rename},
		{"copy", "[code]", "copy the last answer, or its last code block", (*model).copyAnswer},
		{"diff", "", "what this session changed", func(m *model, _ string) tea.Cmd { return m.showDiff() }},
		{"jobs", "", "what runs in the background: output, stop", func(m *model, _ string) tea.Cmd { return m.showJobs() }},
		{"bg", "", "let the running command go on as a job (also ctrl+b)", func(m *model, _ string) tea.Cmd { return m.toBackground() }},
		{"todo", "", "the todo list", func(m *model, _ string) tea.Cmd { return m.showTodo() }},
		{"queue", "", "the messages that wait: edit, reorder, remove", func(m *model, _ string) tea.Cmd { return m.showQueue() }},
		{"quit", "", "leave (also ctrl+d)", func(m *model, _ string) tea.Cmd { return m.quit() }},
	}
}

// alias are other names of commands.
var alias = map[string]string{"exit": "quit", "clear": "new", "sessions": "resume", "permission": "permissions"}

// changing are the commands that must not run beside a turn.
var changing = []string{"model", "effort", "resume", "new"}

// command runs one; the history keeps it. A name that does not exist is an error with
// the nearest ones: nothing is sent.
func (m *model) command(name, args string) tea.Cmd {
	if to, ok := alias[name]; ok {
		name = to
	}
	if m.running && slices.Contains(changing, name) {
		return m.flash("/" + name + " has to wait for the turn: " + m.keys.key("interrupt") + " stops it")
	}
	for _, c := range builtins {
		if c.name == name {
			m.dropDraft()
			return c.run(m, args)
		}
	}
	for _, c := range m.o.Commands {
		if c.Name == name {
			m.dropDraft()
			return func() tea.Msg {
				text, err := c.Run(m.ctx, args)
				if err != nil {
					return noteMsg("✗ /" + c.Name + ": " + err.Error())
				}
				if text == "" {
					return nil // what it did is on the screen
				}
				return noteMsg(text)
			}
		}
	}
	text := "No command /" + name + "."
	if near := SuggestCommands(name, m.menu()); len(near) > 0 {
		text += " /" + strings.Join(near, ", /") + "?"
	}
	m.say(text)
	return nil
}

// menu is what the popup completes after a slash.
func (m *model) menu() []CommandHelp {
	var list []CommandHelp
	for _, c := range builtins {
		list = append(list, CommandHelp{Name: c.name, Args: c.args, Help: c.help})
	}
	for _, c := range m.o.Commands {
		list = append(list, CommandHelp{Name: c.Name, Args: c.Args, Help: c.Help})
	}
	return list
}

// files answers an @ mention.
func (m *model) files(query string, n int) (items []Item, note string) {
	if m.open.Files == nil {
		return nil, ""
	}
	paths, note := m.open.Files(query, n)
	for _, path := range paths {
		items = append(items, Item{Text: path})
	}
	return items, note
}

func (m *model) help() tea.Cmd {
	var rows []string
	rows = append(rows, m.th.strong("Commands"))
	for _, c := range builtins {
		rows = append(rows, fmt.Sprintf("  %-28s %s", strings.TrimSpace("/"+c.name+" "+c.args), c.help))
	}
	for _, c := range m.o.Commands {
		rows = append(rows, fmt.Sprintf("  %-28s %s", strings.TrimSpace("/"+c.Name+" "+c.Args), c.Help))
	}
	rows = append(rows, m.th.strong("Keys"))
	for _, row := range m.keys.list(inComposer, false) {
		rows = append(rows, "  "+row)
	}
	return m.page("Help", rows)
}

func (m *model) showKeys() {
	var rows []string
	for _, part := range []struct {
		title string
		mode  mode
	}{{"Idle", inIdle}, {"While a turn runs", inRunning}, {"In the completion", inPopup}, {"In the search of prompts", inSearch}, {"A question waits", inApproval},
		{"In lists", inList}, {"In the list of waiting messages", inQueue}, {"In the list of jobs", inJobs}, {"Leaving while jobs run", inLeaving}, {"In the transcript", inPager}} {
		rows = append(rows, m.th.strong(part.title))
		for _, row := range m.keys.list(part.mode, true) {
			rows = append(rows, "  "+row)
		}
	}
	_ = m.page("Keys", rows)
}

func (m *model) showStatus() tea.Cmd {
	p, o := &m.progress, m.open
	rows := []string{
		"session      " + o.Header.ID,
		"title        " + m.title(),
		"folder       " + o.Cwd,
		"model        " + strings.TrimSpace(o.Model+" "+o.Effort),
		"permissions  " + m.preset(),
	}
	if percent, ok := p.inUse.Percent(); ok {
		rows = append(rows, fmt.Sprintf("context      %d%% of %s tokens", percent, amount(p.inUse.Window)))
	}
	for _, f := range p.told {
		what := fmt.Sprintf("%d bytes", f.Bytes)
		if f.Problem != "" {
			what = "not shown: " + f.Problem
		}
		rows = append(rows, "instructions "+f.Path+" · "+what)
	}
	if p.checked != "" {
		rows = append(rows, "check        "+p.checked)
	}
	rows = append(rows, m.statusJobs()...)
	for _, row := range rows {
		m.say(termtext.Line(row))
	}
	return nil
}

func (m *model) rename(title string) tea.Cmd {
	if title == "" {
		return m.flash("/rename needs a title")
	}
	if err := m.open.Rename(title); err != nil {
		m.fail("rename", err)
	}
	return nil
}

// copyAnswer hands the last answer to the terminal's clipboard.
func (m *model) copyAnswer(what string) tea.Cmd {
	text := ""
	blocks := m.project.Blocks()
	for i := len(blocks) - 1; i >= 0 && text == ""; i-- {
		if blocks[i].Kind == transcript.Answer {
			text = blocks[i].Text
		}
	}
	if what == "code" {
		text = lastCode(text)
	}
	if text == "" {
		return m.flash("nothing to copy yet")
	}
	return m.copyText(text)
}

func (m *model) copyText(text string) tea.Cmd {
	if err := m.t.Copy(text); err != nil {
		return m.flash("not copied: " + err.Error())
	}
	return m.flash(fmt.Sprintf("sent to your terminal's clipboard, %d lines; not confirmed", strings.Count(text, "\n")+1))
}

// lastCode is the content of the last fenced block; "" if there is none.
func lastCode(text string) string {
	var code, block []string
	in := false
	for line := range strings.Lines(text) {
		switch fence := strings.HasPrefix(strings.TrimSpace(line), "```"); {
		case fence && in:
			code, block, in = block, nil, false
		case fence:
			in = true
		case in:
			block = append(block, line)
		}
	}
	return strings.Join(code, "")
}

func (m *model) cyclePreset() tea.Cmd {
	presets := m.o.Presets
	if len(presets) == 0 {
		return nil
	}
	i := slices.Index(presets, m.preset())
	return m.setPreset(presets[(i+1)%len(presets)])
}

// presetFull runs everything without asking; it is typed and confirmed, never cycled to.
const presetFull = "full"

// setPreset changes what is allowed without asking; without a name it lists them.
func (m *model) setPreset(name string) tea.Cmd {
	switch {
	case name == "":
		return m.choosePreset()
	case name == presetFull && !m.fullOK && m.progress.preset != presetFull:
		return m.confirmFull()
	}
	if err := m.open.SetPreset(name); err != nil {
		m.fail("/permissions", err)
		return nil
	}
	m.progress.preset, m.open.Preset = name, name
	return m.flash("permissions: " + name)
}

func (m *model) choosePreset() tea.Cmd {
	p := &picker{title: "What is allowed without asking", hint: "enter choose · esc close", items: []item{
		{title: "read-only", detail: "nothing is changed"},
		{title: "ask", detail: "edits and commands ask; what only reads does not"},
		{title: "workspace", detail: "edits in this folder run; commands and the rest ask unless they are confined"},
		{title: presetFull, detail: "everything runs, nothing asks"},
	}}
	for i := range p.items {
		it := &p.items[i]
		it.value, it.marked = it.title, it.title == m.preset()
		if it.marked {
			p.chosen = i
		}
	}
	p.choose = func(name string) { m.next = m.setPreset(name) }
	m.pick = p
	return nil
}

// preset is the one in force.
func (m *model) preset() string { return cmp.Or(m.progress.preset, m.open.Preset) }

// confirmFull asks once in a session.
func (m *model) confirmFull() tea.Cmd {
	p := &picker{title: "Run every command and edit without asking?", hint: "enter choose · esc close", items: []item{
		{title: "No, keep " + m.preset(), value: "no"},
		{title: "Yes, allow everything in this session", value: presetFull},
	}}
	p.choose = func(answer string) {
		if answer == presetFull {
			m.fullOK = true
			m.next = m.setPreset(presetFull)
		}
	}
	m.pick = p
	return nil
}

func (m *model) chooseModel(args string) tea.Cmd {
	if name, effort, _ := strings.Cut(args, " "); name != "" {
		return m.setModel(name, strings.TrimSpace(effort))
	}
	p := &picker{title: "Choose the model", hint: "enter choose · esc close"}
	for _, info := range m.o.Models() {
		name := info.Provider + "/" + info.Name
		detail := fmt.Sprintf("%s tokens window", amount(info.Window))
		if info.Unverified {
			detail += " · unverified"
		}
		p.items = append(p.items, item{title: name, detail: detail, value: name, marked: name == m.open.Model})
	}
	p.choose = func(name string) { _ = m.setModel(name, "") }
	m.pick = p
	return nil
}

func (m *model) setModel(name, effort string) tea.Cmd {
	model, err := m.open.SetModel(name, effort)
	if err != nil {
		m.fail("not changed", err)
		return nil
	}
	m.open.Model, m.open.Effort = model, effort
	return m.flash("model: " + strings.TrimSpace(model+" "+effort))
}

func (m *model) setEffort(level string) tea.Cmd {
	if level == "" {
		return m.flash("/effort off, low, high or max")
	}
	return m.setModel(m.open.Model, level)
}

func (m *model) resume(id string) tea.Cmd {
	if id != "" {
		return m.openSession(id)
	}
	m.pick = m.sessionPicker(true)
	return nil
}

// sessionPicker lists sessions, of this folder or of all.
func (m *model) sessionPicker(here bool) *picker {
	entries, err := m.o.Sessions()
	if err != nil {
		m.fail("the sessions could not be listed", err)
		return nil
	}
	p := &picker{title: "Resume a session · all folders", hint: "enter resume · tab this folder · esc close"}
	if here {
		p.title, p.hint = "Resume a session · this folder", "enter resume · tab all folders · esc close"
	}
	unread := 0
	for _, e := range entries {
		switch {
		case e.Damaged != nil:
			unread++
			continue
		case here && e.Cwd != m.open.Cwd:
			continue
		}
		title := e.Title
		if title == "" {
			title = "(no prompt)"
		}
		detail := fmt.Sprintf("%s · %.8s · %s", time.UnixMilli(e.LastUse).Format("2006-01-02 15:04"), e.ID, e.Cwd)
		p.items = append(p.items, item{title: title, detail: detail, value: e.ID, marked: e.ID == m.open.Header.ID})
	}
	if unread > 0 {
		p.hint += fmt.Sprintf(" · %d could not be read", unread)
	}
	p.scope = func() *picker { return m.sessionPicker(!here) }
	p.choose = func(id string) { m.next = m.openSession(id) }
	return p
}

// openSession leaves the session on screen for another one, once that is open.
func (m *model) openSession(id string) tea.Cmd {
	switch {
	case id == m.open.Header.ID:
		return m.flash("that session is the one on screen")
	case m.opening:
		return m.flash("a session is being opened")
	}
	return m.unlessJobs("goes on", func() tea.Cmd { return m.openOther(id) })
}

// openOther opens a session in the background.
func (m *model) openOther(id string) tea.Cmd {
	m.opening = true
	open := m.o.Open
	m.work.Go(m.t.Guard(func() {
		opened, err := open(id)
		if err == nil {
			m.arrived <- opened
		}
		m.t.Send(openedMsg{err})
	}))
	return nil
}

func (m *model) opened(msg openedMsg) tea.Cmd {
	m.opening = false
	if msg.err != nil {
		m.report("not opened", msg.err)
		return nil
	}
	m.say(m.th.secondary("left session " + shortID(m.open.Header.ID)))
	m.leave()
	m.show(<-m.arrived)
	return m.startTick()
}

func shortID(id string) string { return id[:min(8, len(id))] }

// listKey is a key in a picker.
func (m *model) listKey(action string, raw tea.KeyMsg) tea.Cmd {
	p := m.pick
	switch action {
	case "up":
		p.move(-1)
	case "down":
		p.move(1)
	case "choose":
		if it, ok := p.current(); ok {
			m.pick = nil
			m.rearm(m.now())
			p.choose(it.value)
			cmd := m.next
			m.next = nil
			return cmd
		}
	case "close":
		m.pick = nil
		m.rearm(m.now())
	case "queue-remove", "queue-steer", "queue-earlier", "queue-later":
		if it, ok := p.current(); ok {
			p.letters(action, it.value)
		}
	case "scope":
		if p.scope != nil {
			if next := p.scope(); next != nil {
				m.pick = next
			}
		}
	case "repaint":
		m.t.Clear()
	case "suspend":
		return m.t.Suspend()
	default:
		switch {
		case p.letters != nil || raw.Alt:
		case raw.Type == tea.KeyBackspace:
			p.backspace()
		case raw.Type == tea.KeyRunes:
			p.typed(string(raw.Runes))
		case raw.Type == tea.KeySpace:
			p.typed(" ")
		}
	}
	return nil
}

// hasDiff reports whether a call changed files and its card shows how.
func hasDiff(b *transcript.Block) bool {
	r := b.Result()
	if r == nil {
		return false
	}
	meta, ok := session.DecodeMeta(r.Meta)
	return ok && meta.Display != nil && len(meta.Display.Diffs) > 0
}
