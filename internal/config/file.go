package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds a file of settings, in bytes: a project's may come from anyone.
const maxFile = 1 << 20

// entry is one assignment of a file, its key flattened with dots.
type entry struct {
	key    string
	kind   unstable.Kind
	text   string     // a scalar
	list   []RuleText // an array of strings
	origin Origin
}

// readFile is the entries of a file in their order; none if it does not exist.
func readFile(path string, layer Layer) ([]entry, error) {
	data, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{File: path, Message: "cannot read the settings: " + err.Error()}
	}
	data = bytes.TrimPrefix(data, bom)
	var all map[string]any // holds the file against the rules that the parser below does not know
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, syntax(path, err)
	}
	f := flattener{layer: layer, file: path}
	f.parser.Reset(data)
	return f.entries()
}

// syntax is the error of a file that is no TOML.
func syntax(file string, err error) error {
	e := &Error{File: file, Message: strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.Line, e.Column = at.Position()
	}
	return e
}

// readSmall reads a regular file. Opening anything else, a pipe say, could block.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// plain drops the path, which the message around it names.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

type flattener struct {
	parser unstable.Parser
	layer  Layer
	file   string
	found  []entry
}

func (f *flattener) entries() ([]entry, error) {
	prefix := ""
	for f.parser.NextExpression() {
		switch n := f.parser.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			key, line := f.key("", n.Key())
			if n.Kind == unstable.ArrayTable || !isTable(key) {
				return nil, f.fail(line, key, "no such table"+suggestTable(key))
			}
			prefix = key
		case unstable.KeyValue:
			if err := f.keyValue(prefix, n); err != nil {
				return nil, err
			}
		}
	}
	if err := f.parser.Error(); err != nil {
		return nil, &Error{File: f.file, Message: err.Error()}
	}
	return f.found, nil
}

func (f *flattener) keyValue(prefix string, n *unstable.Node) error {
	key, line := f.key(prefix, n.Key())
	e := entry{key: key, kind: n.Value().Kind, origin: Origin{Layer: f.layer, File: f.file, Line: line}}
	switch e.kind {
	case unstable.InlineTable:
		for it := n.Value().Children(); it.Next(); {
			if err := f.keyValue(key, it.Node()); err != nil {
				return err
			}
		}
		return nil
	case unstable.Array:
		for it := n.Value().Children(); it.Next(); {
			item := it.Node()
			if item.Kind != unstable.String {
				return f.fail(line, key, "every item must be a string in quotes")
			}
			at := e.origin
			at.Line = f.line(item, line)
			e.list = append(e.list, RuleText{Text: string(item.Data), Origin: at})
		}
	default:
		e.text = string(n.Value().Data)
	}
	f.found = append(f.found, e)
	return nil
}

func (f *flattener) key(prefix string, it unstable.Iterator) (key string, line int) {
	var parts []string
	if prefix != "" {
		parts = append(parts, prefix)
	}
	for it.Next() {
		parts = append(parts, string(it.Node().Data))
		if line == 0 {
			line = f.line(it.Node(), 0)
		}
	}
	return strings.Join(parts, "."), line
}

func (f *flattener) line(n *unstable.Node, unknown int) int {
	if n.Raw.Length == 0 {
		return unknown
	}
	return f.parser.Shape(n.Raw).Start.Line
}

func (f *flattener) fail(line int, key, message string) error {
	return &Error{File: f.file, Line: line, Key: key, Message: message}
}
