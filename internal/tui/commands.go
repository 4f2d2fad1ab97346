package tui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
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
