package tools

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// Where a file falls apart into chunks says nothing about it.
func TestStyleDoesNotDependOnChunks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a", "\xef\xbb\xbfa\r\n\u4e2d\r\n\r\n", "a\r\nb\nc\r", "\r\r\n", "\U0001F600\u00e9\n", "a\x00b", "caf\xe9\n", "\xc3", "\xf0\x9f\x98", "\xff\xfea\x00", "a\xed\xa0\x80",
	} {
		data := []byte(text)
		crlf, lines := bytes.Count(data, []byte("\r\n")), bytes.Count(data, []byte("\n"))
		isText := utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
		for i := range len(data) + 1 {
			for j := i; j <= len(data); j++ {
				var s style
				for _, chunk := range [][]byte{data[:i], data[i:j], data[j:]} {
					s.Write(chunk)
				}
				if s.text() != isText || s.lines != lines || s.crlf != crlf {
					t.Errorf("%q cut at %d and %d: %+v", text, i, j, s)
				}
			}
		}
	}
}
