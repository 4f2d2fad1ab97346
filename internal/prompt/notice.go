package prompt

import (
	"fmt"
	"time"
)

// BudgetNotice tells the model that little of a turn's budget is left. The kinds are
// those of session.TurnBudget: steps, calls, and time in milliseconds.
func BudgetNotice(kind string, used, limit int64) string {
	amount := fmt.Sprintf("%d of %d %s", used, limit, kind)
	if kind == "time" {
		amount = fmt.Sprintf("%s of %s", span(used), span(limit))
	}
	return frame("notice", "The budget of this turn is nearly spent: "+inline(amount, maxValue)+
		" are used, and at the end dsh stops the turn. Finish what matters most, leave the files in a working state, and say what is done and what is not.")
}

func span(ms int64) string { return (time.Duration(ms) * time.Millisecond).Round(time.Second).String() }

// repeatDetail is the number of identical calls from which the notice shows them.
const repeatDetail = 5

// RepeatNotice tells the model that it has made the same call n times in a row.
// args is shown from the fifth on, cut to 500 characters.
func RepeatNotice(tool string, n int, args string) string {
	text := fmt.Sprintf("You have now called %s %d times in a row with the same arguments.", inline(tool, maxArgs), n)
	if n < repeatDetail {
		return frame("notice", text+" If the result does not help, try something else.")
	}
	return frame("notice", text+" The arguments: "+inline(args, maxArgs)+
		"\nIf it goes on like this, dsh stops the turn. Change the approach, or say what blocks you.")
}
