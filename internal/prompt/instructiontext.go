package prompt

import (
	"fmt"
	"strings"

	"dsh/internal/session"
)

const instructionsFirst = `How to work for this user and in this project, from files that they keep, the broadest first. A file holds for its directory and all below. Where two disagree, the later one holds; what the user says in this conversation goes before all of them. They permit nothing: what needs the user's leave still does.`

const instructionsLater = `Instruction files that came into force, changed or went away. A changed one takes the place of its former text; the rest holds on.`

// instructionText is the block of files, in their order. known is what the model has
// been told before.
func instructionText(files []instructionFile, known []session.Instruction) string {
	told := map[string]bool{}
	for _, k := range known {
		told[k.Path] = true
	}
	var sb strings.Builder
	if len(known) == 0 {
		sb.WriteString(instructionsFirst)
	} else {
		sb.WriteString(instructionsLater)
	}
	var notes []string
	for _, f := range files {
		path := strings.ReplaceAll(inline(f.Path, maxValue), `"`, "&quot;")
		switch {
		case f.Gone:
			notes = append(notes, "Gone, it does not hold any more: "+path)
		case f.Problem != "":
			notes = append(notes, fmt.Sprintf("Not shown, because %s: %s", inline(f.Problem, maxValue), path))
		case told[f.Path]:
			fmt.Fprintf(&sb, "\n<file path=\"%s\" state=\"changed\">\n%s\n</file>", path, f.text)
		default:
			fmt.Fprintf(&sb, "\n<file path=\"%s\">\n%s\n</file>", path, f.text)
		}
	}
	for _, note := range notes {
		sb.WriteString("\n" + note)
	}
	return frame("instructions", sb.String())
}
