package termtext

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON makes JSON text safe to write to a terminal and leaves its meaning: what Clean
// would replace is written as \uXXXX, which can only stand inside a string. Invalid
// UTF-8, which JSON does not allow, becomes \ufffd. Clean text is returned as it is.
func JSON(s string) string {
	var c cleaner
	n := c.plain(s)
	if n == len(s) {
		return s
	}
	out := append(make([]byte, 0, len(s)+16), s[:n]...)
	for s = s[n:]; s != ""; s = s[n:] {
		r, size := utf8.DecodeRuneInString(s)
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
		c.prev = r
		s = s[size:]
		n = c.plain(s)
		out = append(out, s[:n]...)
	}
	return string(out)
}
