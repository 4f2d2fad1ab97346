package transcript

import (
	"encoding/json"
	"slices"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// display is a call as its tool shows it.
func (r *Renderer) display(b *Block) session.Display {
	args := b.Args
	if b.State == Streaming {
		args = closeJSON(args)
	}
	d := r.present(b.Name, args, b.Result())
	if d.Verb == "" {
		d.Verb = b.Name
	}
	return d
}

// plainCard shows any call without its tool.
func plainCard(name, rawArgs string, r *session.ToolResult) session.Display {
	if r != nil {
		if meta, ok := session.DecodeMeta(r.Meta); ok && meta.Display != nil {
			return *meta.Display
		}
	}
	return session.Display{Kind: session.ShowText, Verb: name, Target: rawArgs, Text: resultText(r)}
}

func resultText(r *session.ToolResult) string {
	var sb strings.Builder
	if r == nil {
		return ""
	}
	for _, b := range r.Message.Content {
		for _, c := range b.Content {
			if c.Type == llm.Text {
				sb.WriteString(c.Text)
			}
		}
	}
	return sb.String()
}

// closeJSON completes arguments that still arrive, so that what is there can be shown.
// A key without its value is left out.
func closeJSON(args string) string {
	var open []byte // what closes the objects and lists that are open
	inString, escaped := false, false
	comma, depth := 0, 0 // the last one between values, and how many were open there
	for i := range len(args) {
		switch c := args[i]; {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case c == ',':
			comma, depth = i, len(open)
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
			depth = min(depth, len(open))
		}
	}
	slices.Reverse(open)
	whole := args
	if escaped {
		whole = whole[:len(whole)-1]
	}
	if inString {
		whole += `"`
	}
	if whole += string(open); json.Valid([]byte(whole)) {
		return whole
	}
	if less := args[:comma] + string(open[len(open)-depth:]); json.Valid([]byte(less)) {
		return less
	}
	return args
}

// card draws a call: one line of what it is, and as much of what came of it as tells a
// reader whether to look closer.
func (w *writer) card(b *Block, d session.Display) {
	state := b.State
	if state == Done && endedBadly(&d) {
		state = Failed
	}
	if state == Stopped && !w.o.Expanded { // the head says so; the words are for the model
		if first, rest, more := strings.Cut(d.Text, "\n"); more && strings.HasPrefix(first, "Error: ") {
			d.Text = rest
		}
	}
	glyph, style := w.glyph(state)
	facts := w.facts(b, &d, state)
	well := (state == Done || state.Live()) && d.Kind != session.ShowJob // of a job the fact says most
	target, told := w.head(style.Paint(glyph), &d, facts, well)
	if w.o.Width < lineWidth && !w.o.Expanded {
		return
	}
	if w.o.Expanded && (!target || state == Asked) { // who is asked sees all of it
		w.under(d.Target)
	}
	if w.o.Expanded && !told && !state.Live() && !silent(b, state) {
		w.under(strings.Join(facts, " "+w.t.Glyphs.Dot+" "))
	}
	if w.o.Expanded && d.Command != nil {
		w.command(d.Command)
	}
	switch {
	case state == Running && w.o.Output != "":
		w.output(w.o.Output)
	case w.o.Expanded || b.State == Asked || !state.Live() && !silent(b, state):
		w.body(&d, state)
	}
}

// silent reports whether the head says all that there is to say of a call.
func silent(b *Block, state State) bool {
	switch state {
	case Refused, NotRun, Unknown:
		return true
	}
	return (b.State == Failed || b.State == Stopped) && strings.Count(strings.TrimSpace(resultText(b.Result())), "\n") == 0
}

// endedBadly: a command that exits with a code is no error to the model, but it is one
// to the reader.
func endedBadly(d *session.Display) bool {
	return d.Command != nil && (d.Command.ExitCode != 0 || d.Command.TimedOut)
}

// facts are what the tool says, then what a person answered, then what became of it.
func (w *writer) facts(b *Block, d *session.Display, state State) []string {
	facts := append([]string(nil), d.Facts...)
	if b.Answer != "" && (state != Refused || b.Answer != factDenied) {
		facts = append(facts, b.Answer)
	}
	switch state {
	case Asked:
		facts = append(facts, "waiting for you")
	case Running:
		if took := w.o.Now - b.Time; w.o.Now > 0 && b.Time > 0 && took >= 1000 {
			facts = append(facts, minutes(took))
		}
	case Refused:
		facts = []string{refusal(b)}
	case NotRun:
		facts = []string{"not run"}
		if r := b.Result(); r != nil && r.Error != nil && r.Error.Code == codeSuperseded {
			facts[0] = "not run: the call before it goes on in the background"
		}
	case Stopped:
		if !slices.Contains(facts, "stopped") && !slices.Contains(facts, "cancelled") {
			facts = append(facts, "stopped")
		}
	case Unknown:
		facts = []string{"dsh ended while it ran, result unknown"}
	case Failed:
		if len(facts) == 0 {
			facts = append(facts, firstLine(strings.TrimPrefix(resultText(b.Result()), "Error: ")))
		}
	}
	return facts
}

// refusal says who did not let a call run, and why.
func refusal(b *Block) string {
	result := b.Result()
	reason := ""
	if meta, ok := session.DecodeMeta(result.Meta); ok && meta.Refused != nil {
		reason = meta.Refused.Reason
	}
	if b.Answer == factDenied {
		if _, said, ok := strings.Cut(resultText(result), "and says: "); ok {
			return factDenied + `: "` + firstLine(said) + `"`
		}
		return factDenied
	}
	if reason == "" {
		reason = firstLine(strings.TrimPrefix(strings.TrimPrefix(resultText(result), "Error: "), "not allowed: "))
	}
	return "blocked: " + reason
}

const (
	minTarget = 16 // columns that a target gets before facts give way to it
	minFact   = 12 // columns of the fact that says what went wrong
)

// head is the first row: a glyph, a verb, a target and facts. The target is never
// left out: facts go first, the last one before the others. Of a call that did not go
// well the first fact stays, as far as there is room for it. head reports whether the
// target and the facts are there in full.
func (w *writer) head(glyph string, d *session.Display, facts []string, well bool) (target, told bool) {
	verb, line := termtext.Line(d.Verb), termtext.Line(d.Target)
	verb = w.cutEnd(verb, max(w.o.Width/3, minWidth-4))
	room := w.o.Width - 2 - termtext.Width(verb)
	width := termtext.Width(line)
	if width > 0 {
		room--
	}
	tails := []string{""}
	for _, f := range facts {
		if f = termtext.Line(f); f != "" {
			tails = append(tails, tails[len(tails)-1]+" "+w.t.Glyphs.Dot+" "+f)
		}
	}
	n, whole := len(tails)-1, tails[len(tails)-1]
	least := min(w.least(line, d.Kind), width, room)
	want := min(width, max(minTarget, room/2, least))
	for n > 0 && termtext.Width(tails[n])+want > room {
		n--
	}
	if n == 0 && len(tails) > 1 && !well {
		if n = 1; room-want < minFact {
			want = max(room-minFact, least)
		}
		if d.Kind == session.ShowJob { // the name of the job is in it
			want = min(want, max(least, room-termtext.Width(tails[1])))
		}
		tails[1] = w.cutEnd(tails[1], room-want)
	}
	shown := w.shorten(line, room-termtext.Width(tails[n]), d.Kind)
	row := glyph + " " + w.t.Bold.Paint(verb)
	if shown != "" {
		row += " " + shown
	}
	w.line(trimStyled(row + tails[n]))
	return shown == d.Target, tails[n] == whole
}

// isPath reports whether a target is shortened at its beginning.
func isPath(s string, kind session.DisplayKind) bool {
	return kind != session.ShowCommand && kind != session.ShowMatches && strings.Contains(s, "/") && !strings.Contains(s, " ")
}

// least is how many columns of a target name what it is: the last part of a path, the
// first word of anything else.
func (w *writer) least(s string, kind session.DisplayKind) int {
	if isPath(s, kind) {
		return termtext.Width(s[strings.LastIndexByte(strings.TrimRight(s, "/"), '/')+1:]) + 2
	}
	word, _, _ := strings.Cut(s, " ")
	return termtext.Width(word) + 1
}

// shorten makes a target fit: a path loses its beginning, anything else its end.
func (w *writer) shorten(s string, width int, kind session.DisplayKind) string {
	if termtext.Width(s) <= width {
		return s
	}
	if !isPath(s, kind) {
		return w.cutEnd(s, width)
	}
	for rest := s; ; {
		_, after, ok := strings.Cut(rest, "/")
		if !ok {
			return w.cutEnd(rest, width)
		}
		rest = after
		if short := w.t.Glyphs.Cut + "/" + rest; termtext.Width(short) <= width {
			return short
		}
	}
}

// cutEnd shortens one line at its end.
func (w *writer) cutEnd(s string, width int) string {
	if termtext.Width(s) <= width {
		return s
	}
	if width < termtext.Width(w.t.Glyphs.Cut) {
		return ""
	}
	return strings.TrimRight(termtext.Cut(s, max(width-termtext.Width(w.t.Glyphs.Cut), 0)), " ") + w.t.Glyphs.Cut
}

// under is what the head had no room for. Nothing of it is dropped: what a terminal
// would obey is seen.
func (w *writer) under(s string) {
	indent := w.indent()
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		for _, row := range trimmed(termtext.Fold(termtext.Line(line), w.o.Width-len(indent))) {
			w.content(indent, row)
		}
	}
}

// command is what else there is to know of a command.
func (w *writer) command(c *session.CommandBody) {
	for _, f := range []struct{ name, value string }{{"", c.Description}, {"in ", c.Dir}, {"the whole output: ", c.Artifact}} {
		if f.value == "" {
			continue
		}
		for _, row := range wrapped(f.name+f.value, w.o.Width-len(w.indent())) {
			w.dim(w.indent(), row)
		}
	}
}
