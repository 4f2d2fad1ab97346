package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SummaryRequest asks for a summary of the conversation so far, which then takes its
// place. focus is what the user wants kept above all, "" for nothing special.
func SummaryRequest(focus string) string {
	text := summaryRequest
	if focus = strings.TrimSpace(focus); focus != "" {
		text += "\n\nThe user asks you to keep above all: " + inline(focus, maxValue)
	}
	return frame("notice", text)
}

const summaryRequest = `The conversation is about to outgrow the context window. Everything above this message is replaced by what you write now; later messages stay. Do not call a tool and do not go on with the task: answer with the summary alone, in the user's language, as short as it can be without losing anything that the task still needs. Use these headings, leaving out those with nothing to say:

1. Request: what the user wants, with every instruction, correction and preference that still holds. What was revoked is named as revoked.
2. Decisions: what was settled, and why.
3. Files: the paths that were read, changed or created, what matters in them, exact names and signatures.
4. Errors: what went wrong, and what mended it or did not help.
5. Running: commands and jobs that have not ended, with their ids.
6. Now: what was being done last, and how far it is.
7. Next: the step that follows.
8. Facts: values, commands and outputs that must not be looked up again.`

// Checkpoint is the text that takes the place of older messages: their summary, what
// the user said last among them word for word, oldest first, and the blocks of dsh
// that still hold; empty ones are left out.
func Checkpoint(summary string, said []string, blocks ...string) string {
	var sb strings.Builder
	sb.WriteString("Older messages of this conversation were taken out to make room. This is what they came to. Treat it as known, do not repeat it, and go on with the task from the messages that follow.\n\n")
	sb.WriteString(frame("compacted-summary", strings.TrimSpace(summary)))
	if len(said) > 0 {
		sb.WriteString("\n\nThe user's own words in them, the newest last:")
	}
	for _, text := range said {
		sb.WriteString("\n" + frame("user-message", text))
	}
	for _, block := range blocks {
		if block != "" {
			sb.WriteString("\n\n" + block)
		}
	}
	return sb.String()
}

// Clip cuts text of more than limit characters to its head and its tail, with a line
// in between that says so. Shorter text is returned as it is. head and tail together
// must stay below limit by more than the line.
func Clip(text string, limit, head, tail int) string {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:head]) + fmt.Sprintf("\n[… %d characters were left out here to make room …]\n", n-head-tail) + string(runes[n-tail:])
}
