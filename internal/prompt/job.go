package prompt

import (
	"fmt"
	"strings"
)

// maxJobLabel is how much of a job's label a notice has: the model wrote it.
const maxJobLabel = 120

// JobNotice tells the model that a job has ended. state is its status with the detail,
// marks are lines about it, output is what it has put out that the model has not read,
// "" if that is too much for a notice.
func JobNotice(id, kind, label, state string, marks []string, output string, more bool) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "Background job %s (%s, `%s`) has ended [%s].", id, kind, inline(strings.Join(strings.Fields(label), " "), maxJobLabel), state)
	for _, mark := range marks {
		sb.WriteString(" " + upper(inline(mark, maxValue)) + ".")
	}
	switch {
	case more:
		sb.WriteString(" Read its output with job_output.")
	case output == "":
		sb.WriteString(" It put out nothing more.")
	default:
		sb.WriteString(" The rest of its output, also for job_output:\n" + unframed("notice", output))
	}
	return frame("notice", sb.String())
}

// unframed is foreign text that cannot end the frame it stands in.
func unframed(tag, text string) string {
	return strings.ReplaceAll(text, "</"+tag, "&lt;/"+tag)
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
