package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// maxValue is the longest piece of a value that is looked for, in bytes: a certificate
// with its key fits. Of a longer value each piece is a value of its own.
const maxValue = 4 << 10

// minForm is the length of an encoded form that can be told from other text, in bytes.
const minForm = MinValue

// valueAnchors are the values in all their forms. A value that a marker holds is not
// looked for: it would eat the markers.
func valueAnchors(values []Value) (anchors []anchor) {
	known := map[string]bool{}
	for _, v := range values {
		if len(v.Text) < MinValue || strings.Contains(marker(v.Kind), v.Text) {
			continue
		}
		for _, form := range forms(v.Text) {
			for len(form) >= minForm {
				piece := form[:min(len(form), maxValue)]
				form = form[len(piece):]
				if !known[piece] {
					known[piece] = true
					anchors = append(anchors, anchor{text: piece, value: true, kind: v.Kind})
				}
			}
		}
	}
	return anchors
}

// forms are a value as it is, in a JSON string, in a URL, and in base64.
func forms(text string) []string {
	list := []string{text, url.QueryEscape(text), url.PathEscape(text)}
	if quoted, err := json.Marshal(text); err == nil {
		list = append(list, string(quoted[1:len(quoted)-1]))
	}
	var plain strings.Builder
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) == nil {
		list = append(list, strings.Trim(plain.String(), "\"\n"))
	}
	for shift := range 3 {
		list = append(list, in64(base64.RawStdEncoding, text, shift), in64(base64.RawURLEncoding, text, shift))
	}
	return list
}

// in64 is what a value looks like inside the base64 of something in which it begins
// shift bytes behind a multiple of three: without the characters that depend on its
// neighbours.
func in64(enc *base64.Encoding, text string, shift int) string {
	coded := enc.EncodeToString([]byte(strings.Repeat("x", shift) + text))
	first := (shift*8 + 5) / 6
	last := (shift + len(text)) * 8 / 6
	return coded[first:last]
}
