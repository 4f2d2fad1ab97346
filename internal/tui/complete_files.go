package tui

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is how far before the caret a word may begin, in bytes: longer than paths
// are, short enough to look at with each key.
const maxWord = 1024

// lineRange is what may stand behind a file: ":40", ":40-90", and these unfinished.
var lineRange = regexp.MustCompile(`:[0-9]*(-[0-9]*)?$`)

// wordAtCaret is the word that could be completed at the caret.
func (c *Composer) wordAtCaret() word {
	if w := c.commandAtCaret(); w.kind != noWord {
		return w
	}
	line := c.lines[c.cur.row][:c.cur.col]
	first := max(len(line)-maxWord, 0)
	for end := len(line); ; {
		at := first + strings.LastIndexByte(line[first:end], '@')
		if at < first {
			return word{}
		}
		if startsWord(line[:at]) {
			if query, suffix, ok := parseMention(line[at+1:]); ok {
				return word{at: span{place{c.cur.row, at}, c.cur}, kind: fileWord, query: query, suffix: suffix}
			}
		}
		end = at
	}
}

// startsWord reports whether a word may begin behind text: not in an address of mail,
// but behind an ideograph, where nobody writes a space.
func startsWord(before string) bool {
	if before == "" || before[len(before)-1] == chipClose {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return unicode.IsSpace(r) || strings.ContainsRune("([{<\"'`,;:=", r) || r >= 0x2e80
}

// parseMention reads what stands between "@" and the caret: a path, or one in quotes
// that are perhaps not closed yet, and a range.
func parseMention(s string) (query, suffix string, ok bool) {
	if strings.IndexByte(s, chipOpen) >= 0 {
		return "", "", false
	}
	if strings.HasPrefix(s, `"`) {
		query, rest, closed := unquote(s[1:])
		return query, rest, !closed || rest == "" || lineRange.FindString(rest) == rest
	}
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return "", "", false
	}
	if i := lineRange.FindStringIndex(s); i != nil && i[0] > 0 {
		return s[:i[0]], s[i[0]:], true
	}
	return s, "", true
}

// unquote reads up to a closing quote, with backslashes before quotes and backslashes.
func unquote(s string) (text, rest string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), "", false
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// mention is how a path is written: with quotes if it needs them, then the range and a
// space. A directory is left open, for what is in it.
func mention(path, suffix string) string {
	quoted := path == "" || strings.ContainsFunc(path, unicode.IsSpace) || strings.ContainsAny(path, `"`)
	dir := strings.HasSuffix(path, "/")
	if quoted {
		path = `"` + quoting.Replace(path)
	}
	switch {
	case dir:
		return "@" + path
	case quoted:
		path += `"`
	}
	return "@" + path + suffix + " "
}

// files answers an @ mention.
func (m *model) files(query string, n int) (items []Item, note string) {
	if m.open.Files == nil {
		return nil, ""
	}
	paths, note := m.open.Files(query, n)
	for _, path := range paths {
		items = append(items, Item{Text: path})
	}
	return items, note
}
