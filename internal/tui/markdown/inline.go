package markdown

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"

	"dsh/internal/termtext"
)

// inline draws the text in a block: lines, styled on top of base; "" if nothing is
// seen of it.
func (p painter) inline(n ast.Node, base Style) string {
	w := writer{theme: p.theme, src: p.src}
	w.children(n, base)
	w.put("", "")
	if strings.TrimSpace(w.plain.String()) == "" {
		return ""
	}
	return termtext.Expand(strings.TrimRight(w.b.String(), " \n"))
}

// writer collects styled text.
type writer struct {
	theme *Theme
	src   []byte
	b     strings.Builder
	plain strings.Builder // the same without styles
	style Style           // in force
}

// put adds text in a style, and changes the style if it must.
func (w *writer) put(text string, style Style) {
	if text == "" && style != "" {
		return
	}
	if style != w.style {
		if w.style != "" {
			w.b.WriteString("\x1b[0m")
		}
		if style != "" {
			w.b.WriteString("\x1b[" + string(style) + "m")
		}
		w.style = style
	}
	w.b.WriteString(text)
	w.plain.WriteString(text)
}

func (w *writer) children(n ast.Node, style Style) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, style)
	}
}

func (w *writer) node(n ast.Node, style Style) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(n, style)
	case *ast.String:
		w.put(visible(n.Value), style)
	case *ast.CodeSpan:
		w.codeSpan(n, style)
	case *ast.Emphasis:
		if n.Level == 2 {
			w.marked(n, style, w.theme.Strong, "**")
		} else {
			w.marked(n, style, w.theme.Emph, "*")
		}
	case *strike:
		w.marked(n, style, w.theme.Strike, "~~")
	case *ast.Link:
		w.link(n, n.Destination, n.Title, style)
	case *ast.Image:
		w.put("image: ", style)
		w.link(n, n.Destination, n.Title, style)
	case *ast.AutoLink:
		w.put(string(n.Label(w.src)), style.and(w.theme.Link))
	case *checkBox: // the sign of the item
	default:
		w.children(n, style)
	}
}

func (w *writer) text(n *ast.Text, style Style) {
	value := n.Value(w.src)
	if n.IsRaw() {
		w.put(string(value), style)
	} else {
		w.put(visible(value), style)
	}
	if n.SoftLineBreak() || n.HardLineBreak() { // a model that breaks a line means it
		w.put("\n", style)
	}
}

// marked draws what an inline mark encloses, with its signs if it has no style.
func (w *writer) marked(n ast.Node, style, mark Style, sign string) {
	if mark != "" {
		w.children(n, style.and(mark))
		return
	}
	w.put(sign, style)
	w.children(n, style)
	w.put(sign, style)
}

func (w *writer) codeSpan(n *ast.CodeSpan, style Style) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(w.src))
		}
	}
	code := strings.ReplaceAll(b.String(), "\n", " ")
	if w.theme.Code == "" {
		sign := "`"
		for strings.Contains(code, sign) {
			sign += "`"
		}
		w.put(sign+code+sign, style)
		return
	}
	w.put(code, style.and(w.theme.Code))
}

// link draws the text of a link and, if that does not say it, where it leads.
func (w *writer) link(n ast.Node, destination, title []byte, style Style) {
	from := w.plain.Len()
	w.children(n, style.and(w.theme.Link))
	label := w.plain.String()[from:]
	to := termtext.Line(html.UnescapeString(string(destination)))
	if len(title) > 0 {
		to = strings.TrimSpace(to + ` "` + termtext.Line(visible(title)) + `"`)
	}
	switch {
	case to == "" || to == label || to == "mailto:"+label:
	case label == "":
		w.put(to, style.and(w.theme.Link))
	default:
		w.put(" (", style)
		w.put(to, style.and(w.theme.Faint))
		w.put(")", style)
	}
}

// maxEntity is longer than any named character reference.
const maxEntity = 34

// visible is what the source of a piece of text stands for: escapes and character
// references are resolved, and what could command the terminal is made visible again.
// The backslashes of TeX stay: \( and \[ are formulas more often than brackets.
func visible(src []byte) string {
	s := string(src)
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && strings.IndexByte(`()[]`, s[i+1]) >= 0:
			b.WriteString(s[i : i+2])
			i++
		case c == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'*+,-./:;<=>?@\\^_`{|}~", s[i+1]) >= 0:
			b.WriteByte(s[i+1])
			i++
		case c == '&':
			if end := strings.IndexByte(s[i:min(len(s), i+maxEntity)], ';'); end > 0 {
				b.WriteString(html.UnescapeString(s[i : i+end+1]))
				i += end
				continue
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(termtext.Clean(b.String()))
}
