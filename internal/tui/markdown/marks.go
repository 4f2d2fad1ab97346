package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// goldmark has both marks of this file among its extensions, whose regular expressions
// cost every start of the program 1 ms.

// strike is ~~text~~ that is struck out.
type strike struct{ ast.BaseInline }

var kindStrike = ast.NewNodeKind("Strike")

func (n *strike) Kind() ast.NodeKind            { return kindStrike }
func (n *strike) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// strikeReader reads one or two tildes on each side.
type strikeReader struct{}

func (strikeReader) IsDelimiter(b byte) bool { return b == '~' }
func (strikeReader) OnMatch(int) ast.Node    { return &strike{} }
func (strikeReader) Trigger() []byte         { return []byte{'~'} }

func (strikeReader) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (r strikeReader) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, r)
	if d == nil || d.OriginalLength > 2 || before == '~' {
		return nil
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

// checkBox is [ ] or [x] at the beginning of a list item.
type checkBox struct {
	ast.BaseInline
	checked bool
}

var kindCheckBox = ast.NewNodeKind("CheckBox")

func (n *checkBox) Kind() ast.NodeKind            { return kindCheckBox }
func (n *checkBox) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

type checkBoxReader struct{}

func (checkBoxReader) Trigger() []byte { return []byte{'['} }

func (checkBoxReader) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	if _, ok := parent.Parent().(*ast.ListItem); !ok || parent.HasChildren() || parent.PreviousSibling() != nil {
		return nil
	}
	line, _ := block.PeekLine()
	if len(line) < 4 || line[2] != ']' || line[3] != ' ' && line[3] != '\t' || line[1] != ' ' && line[1]|0x20 != 'x' {
		return nil
	}
	block.Advance(4)
	return &checkBox{checked: line[1] != ' '}
}
