package markdown

import (
	"strings"
	"unicode/utf8"
)

// Highlighter colours code line by line: comments, strings, numbers and keywords. It
// keeps what is open at the end of a line, so code can be coloured while it arrives. A
// lexer for each language would cost every start of the program more than all else
// together, and would have to begin again with each chunk.
type Highlighter struct {
	theme    Theme
	language *language // nil: not known, nothing is coloured
	until    string    // what closes the comment or string that is open, "" if none is
	open     Style     // how that is drawn
}

// NewHighlighter makes one for a language, by its name, an alias or the extension of
// its files, in any case.
func NewHighlighter(name string, theme Theme) *Highlighter {
	return &Highlighter{theme: theme, language: languages[strings.ToLower(strings.TrimPrefix(name, "."))]}
}

// Line colours the next line. The text stays as it is; styles are put around parts of
// it.
func (h *Highlighter) Line(s string) string {
	switch {
	case h.language == nil || s == "":
		return s
	case h.language.diff:
		return h.diff(s)
	}
	var b strings.Builder
	for s != "" {
		n, style := h.token(s, &b)
		b.WriteString(style.on(s[:n]))
		s = s[n:]
	}
	return b.String()
}

func (h *Highlighter) diff(s string) string {
	switch {
	case strings.HasPrefix(s, "+"):
		return h.theme.Added.on(s)
	case strings.HasPrefix(s, "-"):
		return h.theme.Removed.on(s)
	case strings.HasPrefix(s, "@@"):
		return h.theme.Comment.on(s)
	}
	return s
}

// token is the length and the style of what s begins with; done is what came before
// it in the line.
func (h *Highlighter) token(s string, done *strings.Builder) (int, Style) {
	l := h.language
	if h.until != "" {
		return h.rest(s, 0)
	}
	if l.block[0] != "" && strings.HasPrefix(s, l.block[0]) {
		h.until, h.open = l.block[1], h.theme.Comment
		return h.rest(s, len(l.block[0]))
	}
	for _, c := range l.comment {
		if strings.HasPrefix(s, c) && (c != "#" || done.Len() == 0 || strings.HasSuffix(done.String(), " ")) {
			return len(s), h.theme.Comment
		}
	}
	for _, q := range l.long {
		if strings.HasPrefix(s, q) {
			h.until, h.open = q, h.theme.String
			return h.rest(s, len(q))
		}
	}
	switch c := s[0]; {
	case strings.IndexByte(l.quotes, c) >= 0:
		if n := quoted(s); n > 0 {
			return n, h.theme.String
		}
	case c >= '0' && c <= '9':
		return word(s, "."), h.theme.Number
	case letter(c):
		n := word(s, l.joins)
		if l.isKeyword(s[:n]) {
			return n, h.theme.Keyword
		}
		return n, ""
	}
	_, n := utf8.DecodeRuneInString(s)
	return n, ""
}

// rest is what belongs to the open comment or string, from the byte after skip.
func (h *Highlighter) rest(s string, skip int) (int, Style) {
	style := h.open
	i := strings.Index(s[skip:], h.until)
	if i < 0 {
		return len(s), style
	}
	n := skip + i + len(h.until)
	h.until = ""
	return n, style
}

// quoted is the length of the string that s begins with, 0 if the line does not close
// it: then it is an apostrophe.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}

func word(s, more string) int {
	n := 1
	for n < len(s) && (letter(s[n]) || s[n] >= '0' && s[n] <= '9' || strings.IndexByte(more, s[n]) >= 0) {
		n++
	}
	return n
}

// letter takes every byte of a character beyond ASCII for one.
func letter(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}
