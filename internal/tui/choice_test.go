package tui

import (
	"strings"
	"testing"
)

func TestTheQuestionBeforeASessionBeginsOnItsFirstChoice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys []string
		want int
	}{{[]string{"enter"}, 0}, {[]string{"down", "enter"}, 1}, {[]string{"2"}, 1}, {[]string{"9", "x", "esc"}, -1}, {[]string{"ctrl+c"}, -1}} {
		m := &chooser{Question: Question{Text: []string{"evil \x1b[2J = \u202e", "b", "c"}, Choices: []string{"No", "Yes"}}, width: 30, height: 9, answer: -1}
		if got := plain(m.Frame().Rows); strings.ContainsAny(got, "\x1b\u202e") || !strings.Contains(got, "❯ 1  No") || strings.Count(got, "\n") > 8 {
			t.Errorf("the question is\n%q", got)
		}
		for _, key := range c.keys {
			m.Update(keyMsg(key))
		}
		if m.answer != c.want || !m.done {
			t.Errorf("%q answer %d, want %d", c.keys, m.answer, c.want)
		}
	}
}
