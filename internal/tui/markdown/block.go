package markdown

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"dsh/internal/termtext"
)

const (
	maxProse = 110 // columns of a line of text that an eye can follow
	minInner = 8   // columns below which nested blocks are no longer indented
	maxDepth = 24  // of nested blocks that are drawn as nested
)

// shape says what distance a block keeps.
type shape uint8

const (
	none  shape = iota
	plain       // stands as in the source: a blank row where a blank line was
	head        // a blank row before it
	solid       // blank rows around it
)

// flow is rows of blocks, one below the other.
type flow struct {
	rows []string
	last shape
}

func (f *flow) add(rows []string, s shape, blank bool) {
	if len(rows) > 0 {
		f.gap(s, blank)
		f.rows = append(f.rows, rows...)
	}
}

// gap keeps the distance to the block before, and begins the next.
func (f *flow) gap(next shape, blank bool) {
	if f.last != none && (blank || next >= head || f.last == solid) {
		f.rows = append(f.rows, "")
	}
	f.last = next
}

// painter draws the blocks of one source.
type painter struct {
	theme *Theme
	src   []byte
	depth int
}

// document draws a segment.
func (p painter) document(f *flow, s segment, width int) {
	doc := blockParser().Parse(text.NewReader(p.src))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		blank := n.HasBlankPreviousLines()
		if n.PreviousSibling() == nil {
			blank = s.blank
			if list, ok := n.(*ast.List); ok && s.number > 0 {
				list.Start = s.number
			}
		}
		p.block(f, n, width, blank)
	}
}

// inner draws the blocks in a block.
func (p painter) inner(n ast.Node, width int) *flow {
	var f flow
	p.depth++
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		p.block(&f, c, width, c.HasBlankPreviousLines())
	}
	return &f
}

func (p painter) block(f *flow, n ast.Node, width int, blank bool) {
	switch n := n.(type) {
	case *ast.Heading:
		f.add(p.heading(n, width), head, blank)
	case *ast.ThematicBreak:
		f.add([]string{p.theme.Faint.on(termtext.Cut("---", width))}, plain, blank)
	case *ast.List:
		p.list(f, n, width, blank)
	case *ast.Blockquote:
		if width < minInner+2 || p.depth > maxDepth {
			f.add(p.inner(n, width).rows, plain, blank)
			return
		}
		sign := p.theme.Faint.on(">")
		f.add(prefix(p.inner(n, width-2).rows, sign+" ", sign), plain, blank)
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Segment.Value(p.src))
		}
		f.add(p.code(n, info, width), solid, blank)
	case *ast.CodeBlock:
		f.add(p.code(n, "", width), solid, blank)
	case *table:
		f.add(p.table(n, width), solid, blank)
	default:
		f.add(prose(p.inline(n, ""), width), plain, blank)
	}
}

func (p painter) heading(n *ast.Heading, width int) []string {
	style := p.theme.Heading
	if n.Level == 1 {
		style = p.theme.Title
	}
	s := p.inline(n, style)
	if style == "" {
		s = strings.TrimRight(strings.Repeat("#", n.Level)+" "+s, " ")
	}
	return prose(s, width)
}

func prose(s string, width int) []string {
	if s == "" {
		return nil
	}
	return termtext.Wrap(s, min(width, maxProse))
}

// list draws each item as a block of its own, so that it looks the same whether the
// list was read whole or item by item.
func (p painter) list(f *flow, list *ast.List, width int, blank bool) {
	number := list.Start
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		sign := "- "
		if list.IsOrdered() {
			sign = strconv.Itoa(number) + string(list.Marker) + " "
			number++
		}
		if box := boxOf(n); box != nil && box.checked {
			sign = "[x] "
		} else if box != nil {
			sign = "[ ] "
		}
		p.item(f, n, sign, width, blank)
		if next := n.NextSibling(); next != nil {
			blank = next.HasBlankPreviousLines()
		}
	}
}

func boxOf(item ast.Node) *checkBox {
	if item.FirstChild() == nil {
		return nil
	}
	box, _ := item.FirstChild().FirstChild().(*checkBox)
	return box
}

func (p painter) item(f *flow, n ast.Node, sign string, width int, blank bool) {
	bare := strings.TrimRight(sign, " ")
	if width < minInner+len(sign) || p.depth > maxDepth { // no room to indent: the sign has a row
		in := p.inner(n, width)
		f.add(append(fold(bare, width), in.rows...), itemShape(in.last), blank)
		return
	}
	in := p.inner(n, width-len(sign))
	if len(in.rows) == 0 {
		in.rows = []string{""}
	}
	rows := prefix(in.rows, strings.Repeat(" ", len(sign)), "")
	rows[0] = bare
	if in.rows[0] != "" {
		rows[0] = sign + in.rows[0]
	}
	f.add(rows, itemShape(in.last), blank)
}

// itemShape: an item that ends in code keeps a distance, another does not.
func itemShape(last shape) shape {
	if last == solid {
		return solid
	}
	return plain
}

// prefix puts a sign before each row, and its bare form in empty ones.
func prefix(rows []string, sign, bare string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		if out[i] = bare; row != "" {
			out[i] = sign + row
		}
	}
	return out
}

// code draws a code block that was read whole.
func (p painter) code(n ast.Node, info string, width int) []string {
	lines := n.Lines()
	if lines.Len() == 0 && info == "" {
		return nil
	}
	c := newCoder(p.theme, info, width)
	fence := "```"
	for bytes.Contains(p.src, []byte(fence+"`")) {
		fence += "`"
	}
	rows := c.open(fence)
	for i := range lines.Len() {
		s := lines.At(i)
		rows = append(rows, c.line(strings.TrimSuffix(string(s.Value(p.src)), "\n"))...)
	}
	return append(rows, c.close(fence)...)
}
