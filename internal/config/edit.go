package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// document is the text of a TOML file that is changed in place: comments, order and
// whatever dsh does not know stay as they are.
type document struct {
	text    []byte
	found   []place
	headers []place // of tables
}

// place is where an assignment or a table's header stands in the text.
type place struct {
	key        string // flattened with dots
	table      string // the table it is written under; "" before the first header
	value      int    // offset of its value
	start, end int    // of `key = value`, or of a header's line without its end
}

// parseDocument takes the text apart, which must be good TOML. file is for errors.
func parseDocument(file string, text []byte) (*document, error) {
	var all map[string]any
	if err := toml.Unmarshal(bytes.TrimPrefix(text, bom), &all); err != nil {
		return nil, syntax(file, err)
	}
	d := &document{text: text}
	offset := len(text) - len(bytes.TrimPrefix(text, bom))
	f := flattener{file: file}
	f.parser.Reset(text[offset:])
	table := ""
	for f.parser.NextExpression() {
		n := f.parser.Expression()
		prefix := table
		if n.Kind != unstable.KeyValue {
			prefix = ""
		}
		p := place{table: table, start: offset + int(n.Raw.Offset), end: offset + int(n.Raw.Offset+n.Raw.Length)}
		p.key, _ = f.key(prefix, n.Key())
		keyEnd := offset
		for it := n.Key(); it.Next(); {
			keyEnd = offset + int(it.Node().Raw.Offset+it.Node().Raw.Length)
		}
		if n.Kind != unstable.KeyValue {
			table = p.key
			p.start, p.end = d.line(keyEnd)
			d.headers = append(d.headers, p)
			continue
		}
		p.value = keyEnd + bytes.IndexByte(text[keyEnd:], '=') + 1
		p.value += len(text[p.value:]) - len(bytes.TrimLeft(text[p.value:], " \t"))
		d.found = append(d.found, p)
	}
	return d, f.parser.Error()
}

var bom = []byte("\ufeff")

// set gives a key a value, which is TOML. It is false if the key can only be written
// by hand: it, or its table, is part of an inline table.
func (d *document) set(key, value string) bool {
	if i := d.index(key); i >= 0 {
		p := d.found[i]
		d.splice(p.value, p.end, value)
		return true
	}
	if d.inline(key) {
		return false
	}
	table, name := "", key
	if i := strings.LastIndexByte(key, '.'); i >= 0 && !d.dotted(key[:i]) {
		table, name = key[:i], key[i+1:]
	}
	at, under := d.after(table)
	assignment := name + " = " + value
	switch {
	case !under && table != "":
		d.append("["+table+"]", assignment)
	case at < 0:
		head := len(d.text) - len(bytes.TrimPrefix(d.text, bom))
		d.splice(head, head, assignment+d.newline())
	default:
		d.splice(at, at, d.newline()+assignment)
	}
	return true
}

// unset takes a key out, with its line if nothing else is on it. It is false as in set.
func (d *document) unset(key string) bool {
	i := d.index(key)
	if i < 0 {
		return !d.inline(key)
	}
	start, end := d.found[i].start, d.found[i].end
	first, _ := d.line(start)
	_, last := d.line(end)
	if last < len(d.text) {
		last += bytes.IndexByte(d.text[last:], '\n') + 1
	}
	d.splice(first, last, "")
	return true
}

func (d *document) index(key string) int {
	return slices.IndexFunc(d.found, func(p place) bool { return p.key == key })
}

// inline reports whether a table of the key is written as { ... }.
func (d *document) inline(key string) bool {
	return slices.ContainsFunc(d.found, func(p place) bool { return strings.HasPrefix(key, p.key+".") })
}

// dotted reports whether a table is made by dotted keys before the first header, where
// a header of its own would be an error.
func (d *document) dotted(table string) bool {
	return slices.ContainsFunc(d.found, func(p place) bool { return p.table == "" && strings.HasPrefix(p.key, table+".") })
}

// after is where another key of a table goes: behind its last one, or its header. under
// reports whether the table is there; at is below 0 if there is no such place.
func (d *document) after(table string) (at int, under bool) {
	at, under = -1, table == ""
	for _, h := range d.headers {
		if h.key == table && table != "" {
			at, under = h.end, true
		}
	}
	for _, p := range d.found {
		if p.table == table {
			_, at = d.line(p.end)
		}
	}
	return at, under
}

// line is the line that holds an offset, without its end.
func (d *document) line(at int) (start, end int) {
	start = bytes.LastIndexByte(d.text[:at], '\n') + 1
	end = len(d.text)
	if i := bytes.IndexByte(d.text[at:], '\n'); i >= 0 {
		end = at + i
	}
	if end > start && d.text[end-1] == '\r' {
		end--
	}
	return start, end
}

// append puts a table at the end, behind a blank line.
func (d *document) append(lines ...string) {
	end := d.newline()
	if len(d.text) > 0 && !bytes.HasSuffix(d.text, []byte("\n")) {
		d.text = append(d.text, end...)
	}
	if len(d.text) > 0 && !bytes.HasSuffix(d.text, []byte(end+end)) {
		d.text = append(d.text, end...)
	}
	for _, line := range lines {
		d.text = append(d.text, line+end...)
	}
}

// newline is how the file ends its lines.
func (d *document) newline() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func (d *document) splice(start, end int, with string) {
	d.text = slices.Concat(d.text[:start], []byte(with), d.text[end:])
}

// edit changes one key of a file's text: to a value, which is TOML, or out with "".
func edit(file string, old []byte, key, value string) ([]byte, error) {
	d, err := parseDocument(file, old)
	if err != nil {
		return nil, err
	}
	ok := false
	if value == "" {
		ok = d.unset(key)
	} else {
		ok = d.set(key, value)
	}
	if !ok {
		return nil, &Error{File: file, Key: key, Message: "it is part of a table in braces: change it there"}
	}
	if _, err := parseDocument(file, d.text); err != nil {
		return nil, &Error{File: file, Key: key, Message: fmt.Sprintf("it cannot be put into the file (%v): write it by hand", err)}
	}
	return d.text, nil
}

// quote is a TOML string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// render is a setting's value as TOML, and as an entry to be judged.
func render(name string, values []string) (string, entry, error) {
	e := entry{key: name, kind: unstable.String}
	if i := slices.IndexFunc(keys, func(k key) bool { return k.name == name }); i >= 0 {
		e.kind = keys[i].kind
	}
	if name == keyFallback || name == keyAllow || name == keyDeny || strings.HasPrefix(name, tableKeys+".") {
		e.kind = unstable.Array
		var quoted []string
		for _, v := range values {
			e.list = append(e.list, RuleText{Text: v})
			quoted = append(quoted, quote(v))
		}
		return "[" + strings.Join(quoted, ", ") + "]", e, nil
	}
	if len(values) != 1 {
		return "", e, &Error{Key: name, Message: "it takes one value"}
	}
	e.text = values[0]
	if e.kind != unstable.Integer {
		return quote(e.text), e, nil
	}
	n, err := strconv.ParseInt(e.text, 0, 64)
	if err != nil {
		return "", e, &Error{Key: name, Message: "want " + kindName(unstable.Integer)}
	}
	return strconv.FormatInt(n, 10), e, nil
}
