package llmtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxWait bounds delays and pauses: a longer one is a typing mistake.
const maxWait = 24 * time.Hour

func streamValue(kind stepKind) func(*parser, string) error {
	return func(p *parser, arg string) error {
		text, err := p.value(arg)
		if err != nil {
			return err
		}
		return p.add(step{kind: kind, text: text})
	}
}

func streamWord(kind stepKind) func(*parser, string) error {
	return func(p *parser, arg string) error {
		if arg == "" || strings.ContainsAny(arg, " \t") {
			return fmt.Errorf("want one word, not %q", arg)
		}
		return p.add(step{kind: kind, text: arg})
	}
}

// bareStep is a directive after which the reply's end is the script's business.
func bareStep(word string, kind stepKind) directive {
	return directive{inReply, true, func(p *parser, arg string) error {
		if err := p.add(step{kind: kind}); err != nil {
			return err
		}
		p.reply.bare = true
		if kind != stepDone {
			p.end = word
		}
		return noArgument(arg)
	}}
}

func count(set func(*parser, int)) func(*parser, string) error {
	return func(p *parser, arg string) error {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return fmt.Errorf("want a number from 1, not %q", arg)
		}
		set(p, n)
		return nil
	}
}

func duration(set func(*parser, time.Duration)) func(*parser, string) error {
	return func(p *parser, arg string) error {
		d, err := parseWait(arg)
		set(p, d)
		return err
	}
}

func parseWait(arg string) (time.Duration, error) {
	d, err := time.ParseDuration(arg)
	if err != nil || d < 0 || d > maxWait {
		return 0, fmt.Errorf("want a duration such as 50ms or 2s, at most %v, not %q", maxWait, arg)
	}
	return d, nil
}

func factInto(set func(*reply, fact)) func(*parser, string) error {
	return func(p *parser, arg string) error {
		f, err := parseFact(arg)
		if err != nil {
			return err
		}
		set(p.reply, f)
		return nil
	}
}

func (p *parser) setDialect(arg string) error {
	if !slices.Contains(dialects, arg) {
		return fmt.Errorf("unknown dialect %q: know %s", arg, strings.Join(dialects, ", "))
	}
	p.script.dialect = arg
	return nil
}

func (p *parser) setModels(arg string) error {
	p.script.models = strings.Fields(arg)
	return nil
}

func (p *parser) setUsage(arg string) error {
	u, err := parseUsage(arg)
	if err != nil {
		return err
	}
	if p.reply == nil {
		p.usage = u
	} else {
		p.reply.usage = u
	}
	return nil
}

func parseUsage(arg string) (*usage, error) {
	if arg == "none" {
		return nil, nil
	}
	var u usage
	fields := map[string]*int{"in": &u.in, "out": &u.out, "cached": &u.cached, "reasoning": &u.reasoning}
	for _, word := range strings.Fields(arg) {
		key, number, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(number)
		if fields[key] == nil || err != nil || n < 0 {
			return nil, fmt.Errorf("want in=N out=N cached=N reasoning=N or none, not %q", word)
		}
		*fields[key] = n
	}
	if u.cached > u.in || u.reasoning > u.out {
		return nil, fmt.Errorf("cached is a part of in, reasoning a part of out: %q has more", arg)
	}
	return &u, nil
}

func (p *parser) setHeader(arg string) error {
	key, value, ok := strings.Cut(arg, ":")
	if !ok || strings.TrimSpace(key) == "" {
		return fmt.Errorf("want Name: value, not %q", arg)
	}
	p.reply.header.Add(strings.TrimSpace(key), strings.TrimSpace(value))
	return nil
}

func (p *parser) setStatus(arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 200 || n > 599 {
		return fmt.Errorf("want a status from 200 to 599, not %q", arg)
	}
	p.reply.status = n
	return nil
}

func (p *parser) setBody(arg string) error {
	text, err := p.value(arg)
	p.reply.body = &text
	return err
}

func (p *parser) addPause(arg string) error {
	d, err := parseWait(arg)
	if err != nil {
		return err
	}
	return p.add(step{kind: stepPause, wait: d})
}

func (p *parser) addCall(arg string) error { return p.call("", arg) }

func (p *parser) call(id, arg string) error {
	name, rest, _ := strings.Cut(strings.TrimSpace(arg), " ")
	if name == "" {
		return fmt.Errorf("want call NAME ARGUMENTS")
	}
	text := "{}"
	if rest = strings.TrimSpace(rest); rest != "" {
		var err error
		if text, err = p.value(rest); err != nil {
			return err
		}
	}
	return p.add(step{kind: stepCall, id: id, name: name, text: text})
}

func (p *parser) addRaw(arg string) error {
	text, err := unescape(arg)
	if err != nil {
		return err
	}
	if err := checkTemplate(text); err != nil {
		return err
	}
	p.reply.bare = true
	return p.add(step{kind: stepRaw, text: text})
}

var escapes = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", 'e': "\x1b", '0': "\x00", '\\': `\`, '"': `"`}

// unescape reads the escapes of raw.
func unescape(s string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		i++
		if i < len(s) && s[i] == 'x' && i+2 < len(s) {
			if b, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out.WriteByte(byte(b))
				i += 2
				continue
			}
		}
		if i == len(s) || escapes[s[i]] == "" {
			return "", fmt.Errorf(`bad escape in %q: know \n \r \t \e \0 \\ \" \xHH`, s)
		}
		out.WriteString(escapes[s[i]])
	}
	return out.String(), nil
}
