package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/termtext"
	"dsh/internal/tui/transcript"
)

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
	if share := p.inUse.Share(); share != "" {
		rows = append(rows, fmt.Sprintf("context      %s of %s tokens", share, termtext.Amount(p.inUse.Window)))
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
		return nil
	}
	return m.flash("the session has its new title")
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
