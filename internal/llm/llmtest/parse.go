package llmtest

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

type parser struct {
	script *Script
	lines  []string
	at     int    // index of the line being read
	where  int    // number of the line that an error is about
	reply  *reply // nil while in the settings
	usage  *usage // of the settings
	seen   map[string]bool
	end    string // the directive after which a reply can stream nothing
}

type place int

const (
	inSettings place = 1 << iota
	inReply
)

type directive struct {
	where place
	once  bool
	parse func(p *parser, arg string) error
}

var directives = sync.OnceValue(func() map[string]directive {
	stream := func(kind stepKind) directive { return directive{inReply, false, streamValue(kind)} }
	flag := func(where place, set func(p *parser)) directive {
		return directive{where, true, func(p *parser, arg string) error { set(p); return noArgument(arg) }}
	}
	return map[string]directive{
		"dialect": {inSettings, true, (*parser).setDialect},
		"lenient": flag(inSettings, func(p *parser) { p.script.lenient = true }),
		"prefix":  flag(inSettings, func(p *parser) { p.script.prefix = true }),
		"models":  {inSettings, true, (*parser).setModels},
		"window":  {inSettings, true, count(func(p *parser, n int) { p.script.window = n })},
		"usage":   {inSettings | inReply, true, (*parser).setUsage},

		"when":     {inReply, false, factInto(func(r *reply, f fact) { r.when = append(r.when, f) })},
		"expect":   {inReply, false, factInto(func(r *reply, f fact) { r.expect = append(r.expect, f) })},
		"repeat":   {inReply, true, count(func(p *parser, n int) { p.reply.times = n })},
		"loop":     flag(inReply, func(p *parser) { p.reply.times = 0 }),
		"optional": flag(inReply, func(p *parser) { p.reply.optional = true }),
		"delay":    {inReply, true, duration(func(p *parser, d time.Duration) { p.reply.delay = d })},
		"pace":     {inReply, true, duration(func(p *parser, d time.Duration) { p.reply.pace = d })},
		"chunks":   {inReply, true, count(func(p *parser, n int) { p.reply.chunks = n })},
		"split":    {inReply, true, count(func(p *parser, n int) { p.reply.split = n })},
		"header":   {inReply, false, (*parser).setHeader},
		"status":   {inReply, true, (*parser).setStatus},
		"body":     {inReply, true, (*parser).setBody},

		"reasoning": stream(stepReasoning),
		"text":      stream(stepText),
		"delta":     stream(stepDelta),
		"data":      stream(stepData),
		"call":      {inReply, false, (*parser).addCall},
		"raw":       {inReply, false, (*parser).addRaw},
		"finish":    {inReply, false, streamWord(stepFinish)},
		"hold":      {inReply, false, streamWord(stepHold)},
		"pause":     {inReply, false, (*parser).addPause},
		"done":      bareStep("done", stepDone),
		"eof":       bareStep("eof", stepEOF),
		"cut":       bareStep("cut", stepCut),
		"hang":      bareStep("hang", stepHang),
	}
})

func parse(name, text string) (*Script, error) {
	p := &parser{
		script: &Script{name: name, dialect: DeepSeek, models: []string{"deepseek-flash", "deepseek-v4-pro"}},
		lines:  strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n"),
		seen:   map[string]bool{},
	}
	for ; p.at < len(p.lines); p.at++ {
		p.where = p.at + 1
		if err := p.line(strings.TrimSpace(p.lines[p.at])); err != nil {
			return nil, p.located(err)
		}
	}
	if err := p.closeReply(); err != nil {
		return nil, p.located(err)
	}
	if len(p.script.replies) == 0 {
		return nil, fmt.Errorf("%s:%d: no reply: begin one with ==", name, len(p.lines))
	}
	return p.script, nil
}

func (p *parser) located(err error) error {
	return fmt.Errorf("%s:%d: %w", p.script.name, p.where, err)
}

func (p *parser) line(line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	if title, ok := strings.CutPrefix(line, "=="); ok {
		if err := p.closeReply(); err != nil {
			return err
		}
		p.openReply(strings.TrimSpace(title))
		return nil
	}
	word, arg := line, ""
	if i := strings.IndexAny(line, " \t"); i > 0 {
		word, arg = line[:i], line[i:]
	}
	key, id, hasID := strings.Cut(word, "#")
	if hasID && key == "call" && id != "" {
		return p.call(id, arg)
	}
	d, known := directives()[word]
	switch {
	case !known:
		return fmt.Errorf("unknown directive %q", word)
	case p.reply == nil && d.where&inSettings == 0:
		return fmt.Errorf("%s belongs to a reply: begin one with ==", word)
	case p.reply != nil && d.where&inReply == 0:
		return fmt.Errorf("%s is a setting: put it before the first ==", word)
	case d.once && p.seen[word]:
		return fmt.Errorf("%s is given twice", word)
	}
	p.seen[word] = true
	return d.parse(p, strings.TrimSpace(arg))
}

func (p *parser) openReply(name string) {
	if name == "" {
		name = fmt.Sprintf("reply %d", len(p.script.replies)+1)
	}
	p.reply = &reply{name: name, line: p.at + 1, times: 1, header: http.Header{}, usage: p.usage}
	p.script.replies = append(p.script.replies, p.reply)
	p.seen, p.end = map[string]bool{}, ""
}

// closeReply checks what only the whole reply shows.
func (p *parser) closeReply() error {
	r := p.reply
	if r == nil {
		return nil
	}
	switch {
	case (r.body != nil || r.status != 0) && len(r.steps) > 0:
		p.where = r.line
		return fmt.Errorf("reply %q streams and has a status or body: it can only do one", r.name)
	case p.seen["repeat"] && p.seen["loop"]:
		p.where = r.line
		return fmt.Errorf("reply %q has repeat and loop: choose one", r.name)
	}
	return nil
}

// add appends a step, unless the reply has ended.
func (p *parser) add(s step) error {
	if p.reply == nil {
		return fmt.Errorf("a call belongs to a reply: begin one with ==")
	}
	if p.end != "" {
		return fmt.Errorf("nothing can follow %s", p.end)
	}
	p.reply.steps = append(p.reply.steps, s)
	return nil
}

var heredoc = regexp.MustCompile(`^<<([A-Za-z_][A-Za-z0-9_]*)$`)

// value reads a VALUE whose first line is arg.
func (p *parser) value(arg string) (string, error) {
	text, err := arg, error(nil)
	if m := heredoc.FindStringSubmatch(arg); m != nil {
		text, err = p.heredoc(m[1])
	} else if len(arg) >= 2 && arg[0] == '"' && arg[len(arg)-1] == '"' {
		if text, err = strconv.Unquote(arg); err != nil {
			return "", fmt.Errorf("%s is not one quoted text: escape the inner quotes, or use <<END", arg)
		}
	}
	if err != nil {
		return "", err
	}
	return text, checkTemplate(text)
}

func (p *parser) heredoc(word string) (string, error) {
	for end := p.at + 1; end < len(p.lines); end++ {
		if strings.TrimSpace(p.lines[end]) == word {
			text := strings.Join(p.lines[p.at+1:end], "\n")
			p.at = end
			return text, nil
		}
	}
	return "", fmt.Errorf("<<%s has no line that is only %s", word, word)
}

func noArgument(arg string) error {
	if arg != "" {
		return fmt.Errorf("unexpected %q", arg)
	}
	return nil
}
