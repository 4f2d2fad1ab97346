package transcript

import (
	"fmt"
	"strings"

	"dsh/internal/session"
)

// verification shows a run of the verification command as one line, which becomes its
// verdict; what it printed and which files it was about are the rest.
func (p *Projection) verification(ev *session.Event, d *session.VerifyRun) {
	if d.Verdict == session.VerifyRunning {
		p.loseVerification(ev)
		p.verify = 1 + p.add(ev, Block{Kind: Notice, State: Running, Text: d.Summary()})
		return
	}
	if p.verify == 0 {
		p.verify = 1 + p.add(ev, Block{Kind: Notice})
	}
	b := p.touch(p.verify-1, ev)
	b.State, b.Text, b.Detail = verdictState(d), d.Summary(), verifyDetail(d)
	if b.State != Done { // otherwise more follows on the line
		b.Text += "."
	}
	p.verify = 0
}

// loseVerification settles one whose end nobody wrote down.
func (p *Projection) loseVerification(ev *session.Event) {
	if p.verify == 0 {
		return
	}
	b := p.touch(p.verify-1, ev)
	b.State, b.Text = Warning, strings.Replace(b.Text, "Verifying:", "Verification lost:", 1)
	p.verify = 0
}

// verdictState: a pass that was made easier asks for attention.
func verdictState(d *session.VerifyRun) State {
	switch {
	case d.Verdict == session.VerifyPassed && d.Touched():
		return Warning
	case d.Verdict == session.VerifyPassed:
		return Done
	case d.Verdict.Fails():
		return Failed
	}
	return Stopped
}

func verifyDetail(d *session.VerifyRun) string {
	var sb strings.Builder
	if len(d.Changed) > 0 {
		sb.WriteString("changed: " + strings.Join(d.Changed, ", "))
		if d.ChangedMore > 0 {
			fmt.Fprintf(&sb, " and %d more", d.ChangedMore)
		}
		sb.WriteString("\n")
	}
	if d.Commands {
		sb.WriteString("commands ran, which may have changed more\n")
	}
	if d.Partial {
		sb.WriteString("the workspace is too large to look for all they changed\n")
	}
	sb.WriteString(d.Output)
	return strings.TrimRight(sb.String(), "\n")
}
