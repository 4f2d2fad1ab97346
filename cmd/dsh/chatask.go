package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

// reply is one of the answers that a question takes, by its number or a word.
type reply struct {
	text   string
	words  []string
	answer session.Answer
}

// replies are the answers to a question, in the order of their numbers.
func replies(r session.ApprovalRequest) []reply {
	list := []reply{{"allow once", []string{"y", "yes"}, session.Answer{Outcome: session.Once}}}
	if r.Decision.Offer != "" {
		list = append(list, reply{"allow " + r.Decision.Offer + " in this session", []string{"s", "session", "a"}, // "a" is the screen's key
			session.Answer{Outcome: session.ForSession, Pattern: r.Decision.Offer}})
	}
	return append(list, reply{"do not allow", []string{"n", "no"}, session.Answer{Outcome: session.No}})
}

// ask puts the first open question on screen, once its call is there. What was typed
// and not read yet is thrown away here, what was read already by line.
func (c *chat) ask() {
	waiting := c.e.agent.Waiting()
	if len(waiting) == 0 {
		c.asked = ""
		return
	}
	if waiting[0].ID == c.asked || !c.put[waiting[0].ID] {
		return
	}
	discardTyped(c.s.in)
	c.asks.Add(1)
	c.asked = waiting[0].ID
	c.view.question(waiting[0])
}

// answer takes a line for the question on screen: a number, a word, or what to do
// instead. Nothing, and a number that none of the answers has, repeats it.
func (c *chat) answer(text string) {
	waiting := c.e.agent.Waiting()
	if len(waiting) == 0 || waiting[0].ID != c.asked {
		c.asked = ""
		return
	}
	answer := session.Answer{Outcome: session.No, Say: text}
	list := replies(waiting[0])
	word := strings.ToLower(text)
	n, err := strconv.Atoi(word)
	if err != nil {
		n = 1 + slices.IndexFunc(list, func(r reply) bool { return slices.Contains(r.words, word) })
	}
	switch {
	case 1 <= n && n <= len(list):
		answer = list[n-1].answer
	case text == "" || err == nil:
		c.view.question(waiting[0])
		return
	}
	if err := c.e.agent.Decide(c.asked, answer); err != nil {
		c.view.note("dsh: " + err.Error())
	}
	c.asked = ""
}

func (v *chatView) question(r session.ApprovalRequest) {
	v.newline()
	for line := range strings.Lines(askText(r)) {
		fmt.Fprintln(v.out, termtext.Line(strings.TrimSuffix(line, "\n")))
	}
	fmt.Fprint(v.out, "  allow? ")
	v.midline = true
}

// askText shows all of what is to be approved: nothing may hide behind a cut.
func askText(r session.ApprovalRequest) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "? %s %s\n", r.Display.Verb, r.Display.Target)
	if c := r.Display.Command; c != nil {
		fmt.Fprintf(&sb, "    %s\n", c.Description)
		if c.Dir != "" {
			fmt.Fprintf(&sb, "    in %s\n", c.Dir)
		}
	}
	for _, d := range r.Display.Diffs {
		for _, h := range d.Hunks {
			fmt.Fprintf(&sb, "    %s\n", strings.Join(h.Lines, "\n    "))
		}
	}
	if r.Display.Text != "" {
		fmt.Fprintf(&sb, "    %s\n", strings.ReplaceAll(strings.TrimRight(r.Display.Text, "\n"), "\n", "\n    "))
	}
	fmt.Fprintf(&sb, "  %s\n", r.Decision.Reason)
	for i, reply := range replies(r) {
		fmt.Fprintf(&sb, "  %d %s\n", i+1, reply.text)
	}
	sb.WriteString("  answer with a number, or say what to do instead\n")
	return sb.String()
}
