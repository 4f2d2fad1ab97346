package markdown

import (
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// blockParser reads the Markdown that models write. Three things are left out, since
// what they take would not be seen: HTML, whose tags stay text, and references, whose
// definitions mostly come after their use has been drawn.
var blockParser = sync.OnceValue(func() parser.Parser {
	return newParser([]util.PrioritizedValue{
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	})
})

// cellParser reads text that holds no blocks.
var cellParser = sync.OnceValue(func() parser.Parser {
	return newParser([]util.PrioritizedValue{util.Prioritized(parser.NewParagraphParser(), 1000)})
})

func newParser(blocks []util.PrioritizedValue) parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(
			util.Prioritized(checkBoxReader{}, 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(strikeReader{}, 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(tableReader{}, 200)),
	)
}

// align is where the text of a column stands.
type align uint8

const (
	left align = iota
	right
	center
)

// table is a block of rows of cells, in source form. The first row is the head. Rows
// may have more or fewer cells than the head.
type table struct {
	ast.BaseBlock
	align []align
	rows  [][]string
}

var kindTable = ast.NewNodeKind("Table")

func (t *table) Kind() ast.NodeKind            { return kindTable }
func (t *table) IsRaw() bool                   { return true }
func (t *table) Dump(source []byte, level int) { ast.DumpHelper(t, source, level, nil, nil) }

// tableReader makes tables of paragraphs. goldmark's own drops cells that the head has
// no column for, and divides a cell at a bar inside a code span.
type tableReader struct{}

func (tableReader) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines := p.Lines()
	for i := 1; i < lines.Len(); i++ {
		columns := delimiters(lineOf(lines, i, reader))
		if columns == nil {
			continue
		}
		head := cells(lineOf(lines, i-1, reader))
		if len(head) != len(columns) {
			continue
		}
		t := &table{align: columns, rows: [][]string{head}}
		for j := i + 1; j < lines.Len(); j++ {
			t.rows = append(t.rows, cells(lineOf(lines, j, reader)))
		}
		if i == 1 {
			t.SetBlankPreviousLines(p.HasBlankPreviousLines())
			p.Parent().ReplaceChild(p.Parent(), p, t)
			return
		}
		p.Parent().InsertAfter(p.Parent(), p, t)
		lines.SetSliced(0, i-1)
		return
	}
}

func lineOf(lines *text.Segments, i int, reader text.Reader) string {
	s := lines.At(i)
	return strings.TrimSpace(string(s.Value(reader.Source())))
}

// delimiters reads the line under the head of a table; nil if it is none.
func delimiters(line string) []align {
	line = strings.TrimSpace(line)
	if strings.Trim(line, "|-: \t") != "" || !strings.Contains(line, "|") || !strings.Contains(line, "-") {
		return nil
	}
	var columns []align
	for _, c := range cells(line) {
		a := left
		switch l, r := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":"); {
		case l && r && len(c) > 1:
			a = center
		case r:
			a = right
		}
		if c = strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":"); c == "" || strings.Trim(c, "-") != "" {
			return nil
		}
		columns = append(columns, a)
	}
	return columns
}

// cells divides a line at the bars that are neither escaped nor in a code span.
func cells(line string) []string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "|")
	var out []string
	var b strings.Builder
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			b.WriteByte('|')
			i += 2
		case c == '\\' && i+1 < len(line):
			b.WriteString(line[i : i+2])
			i += 2
		case c == '`':
			n := codeSpan(line[i:])
			b.WriteString(strings.ReplaceAll(line[i:i+n], `\|`, `|`))
			i += n
		case c == '|':
			out = append(out, strings.TrimSpace(b.String()))
			b.Reset()
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	if last := strings.TrimSpace(b.String()); last != "" || len(out) == 0 || !strings.HasSuffix(line, "|") {
		out = append(out, last)
	}
	return out
}

// codeSpan is the length of the code span that s begins with, or of its backticks if
// nothing closes it.
func codeSpan(s string) int {
	ticks := len(s) - len(strings.TrimLeft(s, "`"))
	for i := ticks; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		i += n
		if n == ticks {
			return i
		}
	}
	return ticks
}
