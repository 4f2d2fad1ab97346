package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/termtext"
)

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
		detail := fmt.Sprintf("%s tokens window", termtext.Amount(info.Window))
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
