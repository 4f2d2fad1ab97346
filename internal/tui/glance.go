package tui

import "strings"

// glanceBytes is how much of the end of an output is looked at: more than a preview
// can show.
const glanceBytes = 8 << 10

// glance is the end of a job's output, as far as it was looked at. Looking takes
// nothing from the model.
type glance struct {
	text string
	next int64
	done bool // the job has ended and nothing more comes
}

// look fetches what is new of a job that has put out about size bytes.
func (g *glance) look(peek func(id string, from int64) (string, int64), id string, size int64, active bool) {
	if g.done {
		return
	}
	text, next := peek(id, max(g.next, size-glanceBytes))
	g.text += text
	if extra := len(g.text) - glanceBytes; extra > 0 {
		g.text = g.text[extra:]
		g.text = g.text[strings.IndexByte(g.text, '\n')+1:]
	}
	g.next, g.done = next, !active
}

// lines are the last n lines, the last state of each that overwrites itself.
func (g *glance) lines(n int) []string {
	text := strings.TrimRight(g.text, "\r\n ")
	if text == "" || n <= 0 {
		return nil
	}
	var lines []string
	for len(lines) < n {
		i := strings.LastIndexByte(text, '\n')
		line := strings.TrimRight(text[i+1:], "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		lines = append(lines, line[:min(len(line), maxShown)])
		if i < 0 {
			break
		}
		text = text[:i]
	}
	for i, k := 0, len(lines)-1; i < k; i, k = i+1, k-1 {
		lines[i], lines[k] = lines[k], lines[i]
	}
	return lines
}
