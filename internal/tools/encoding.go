package tools

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxMagic is how much of a file's beginning tells what it is, in bytes.
const maxMagic = 16

// minWide is how many bytes may be a text of wide characters; fewer may be anything.
const minWide = 8

// notText refuses a file that is not UTF-8 text. Of its beginning, and of the piece in
// which that was seen, it guesses what it may be instead; both may be missing.
func notText(p place, head, piece []byte) error {
	if kind := imageKind(head); kind != "" {
		return fail(FSNotText, "%s is an image (%s), and read shows text only: images cannot be shown yet.", p.abs, kind)
	}
	const alone = "The tools read, write and edit leave it alone"
	if name := encoding(head, piece); name != "" {
		return fail(FSNotText, "%s is not UTF-8 text: it is probably %s. %s; a command such as `iconv -f %s -t UTF-8` shows it.", p.abs, name, alone, name)
	}
	return fail(FSNotText, "%s is not text: it holds NUL bytes or is not UTF-8. %s; a command can show or convert it.", p.abs, alone)
}

// imageKind tells images that models can see by their first bytes.
func imageKind(head []byte) string {
	for kind, magic := range map[string]string{"PNG": "\x89PNG\r\n\x1a\n", "JPEG": "\xff\xd8\xff", "GIF": "GIF8"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return kind
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return "WebP"
	}
	return ""
}

// encoding is the likely name of a text's encoding, as iconv has it; empty if it is not
// text, or could be anything.
func encoding(head, piece []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return "UTF-32LE"
	case bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return "UTF-32BE"
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return "UTF-16LE"
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16BE"
	case bytes.IndexByte(piece, 0) >= 0:
		return wideWithoutMark(piece)
	}
	return singleBytes(piece)
}

// wideWithoutMark tells UTF-16 of mostly ASCII text by where its NUL bytes stand.
func wideWithoutMark(piece []byte) string {
	var nul [2]int
	for i, b := range piece {
		if b == 0 {
			nul[i%2]++
		}
	}
	most := len(piece) / 2 * 3 / 4
	switch {
	case len(piece) < minWide: // too little to tell
	case nul[1] > most && nul[0] == 0:
		return "UTF-16LE"
	case nul[0] > most && nul[1] == 0:
		return "UTF-16BE"
	}
	return ""
}

// singleBytes tells text of a Western European language: letters with accents stand
// alone between ASCII, where the two bytes of an East Asian character stand together.
func singleBytes(piece []byte) string {
	high, alone, c1, control := 0, 0, 0, 0
	for i, b := range piece {
		switch {
		case b >= utf8.RuneSelf:
			high++
			if b < 0xa0 {
				c1++
			}
			if (i == 0 || piece[i-1] < utf8.RuneSelf) && (i+1 == len(piece) || piece[i+1] < utf8.RuneSelf) {
				alone++
			}
		case b < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", rune(b)):
			control++
		}
	}
	switch {
	case high == 0 || control > 0 || alone*10 < high*8:
		return ""
	case c1 > 0:
		return "WINDOWS-1252"
	}
	return "ISO-8859-1"
}
