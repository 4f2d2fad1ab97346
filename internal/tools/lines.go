package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"dsh/internal/redact"
)

const (
	maxReadLines = 2000     // lines of one read, also the default
	maxReadBytes = 50 << 10 // of the lines' text
	maxLineChars = 2000     // of one line; what is cut is said
	// lineBeyond is how much of a line behind what is shown is looked at for secrets, in
	// bytes: the most it takes to know one that begins before.
	lineBeyond = redact.MaxHeld
	// textBefore is how much of the text before the first line is looked at, in bytes:
	// more than the longest private key in use.
	textBefore = 8 << 10
)

var utf8BOM = []byte("\xef\xbb\xbf")

// view is the part of a text file that a read shows. Its memory is bounded by the
// limits above, whatever the file is like.
type view struct {
	first, limit int                 // the lines asked for, from 1
	clean        func(string) string // takes secrets out of a line that is cut
	part         func(before, line string) string

	text   strings.Builder // numbered lines
	shown  int             // how many
	bytes  int             // of the lines' own text
	capped bool            // maxReadBytes ended it
	total  int             // lines in the file

	before []byte // the end of the text ahead of the next line, while that may be a part of a secret
	past   bool   // it is none: what is shown tells a secret from then on

	line []byte // of the line that is being read, as much as may be shown
	open bool   // it has begun
	cut  bool   // it is longer than line
}

// scanText feeds a whole file to a view and to a digest of everything it read. It
// fails on what is not UTF-8 text.
func scanText(ctx context.Context, p place, f io.Reader, v *view, sum *digest) error {
	buf := make([]byte, chunkSize)
	carried, begun := 0, false // carried: bytes of a character that the last chunk cut
	var head []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Read(buf[carried:])
		sum.Write(buf[carried : carried+n])
		data := buf[:carried+n]
		if head == nil {
			head = bytes.Clone(data[:min(len(data), maxMagic)])
		}
		if err != nil && err != io.EOF {
			return fsError("read", p.abs, err)
		}
		whole := len(data)
		if err == nil {
			whole -= brokenTail(data)
		}
		text := data[:whole]
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			return notText(p, head, data)
		}
		if !begun && whole > 0 {
			text, begun = bytes.TrimPrefix(text, utf8BOM), true
		}
		v.feed(text)
		if err == io.EOF {
			v.end()
			return nil
		}
		carried = copy(buf, data[whole:])
	}
}

// brokenTail is the length of a character at the end of b that is not complete.
func brokenTail(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (v *view) feed(text []byte) {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			v.add(text)
			return
		}
		v.add(text[:end])
		v.endLine()
		text = text[end+1:]
	}
}

func (v *view) add(part []byte) {
	v.open = true
	if v.total+1 < v.first {
		v.keepBefore(part)
	}
	if number := v.total + 1; v.capped || number < v.first || number >= v.first+v.limit {
		return
	}
	const enough = maxLineChars*utf8.UTFMax + lineBeyond + 1
	if room := enough - len(v.line); len(part) > room {
		part, v.cut = part[:room], true
	}
	v.line = append(v.line, part...)
}

func (v *view) endLine() {
	v.total++
	line, cut := string(v.line), v.cut
	v.line, v.open, v.cut = v.line[:0], false, false
	if v.total < v.first {
		v.keepBefore([]byte("\n"))
	}
	if v.capped || v.total < v.first || v.total >= v.first+v.limit {
		return
	}
	line = v.rest(line)
	if !cut {
		line = strings.TrimSuffix(line, "\r")
	}
	if cut || utf8.RuneCountInString(line) > maxLineChars {
		line = v.head(line, cut) + fmt.Sprintf(" [line cut after %d characters]", maxLineChars)
	}
	if v.bytes+len(line)+1 > maxReadBytes {
		v.capped = true
		return
	}
	v.bytes += len(line) + 1
	v.shown++
	fmt.Fprintf(&v.text, "%d: %s\n", v.total, line)
}

// keepBefore remembers the end of what stands before the lines that are shown.
func (v *view) keepBefore(text []byte) {
	text = text[max(0, len(text)-textBefore):]
	if v.before = append(v.before, text...); len(v.before) > 4*textBefore {
		v.before = append(v.before[:0], v.before[len(v.before)-textBefore:]...)
	}
}

// rest hides the first lines that are shown if they go on with a secret that began
// before them.
func (v *view) rest(line string) string {
	if v.past || len(v.before) == 0 {
		return line
	}
	shown := v.part(string(v.before), line)
	if v.past = shown == line; !v.past {
		v.keepBefore([]byte(line + "\n"))
	}
	return shown
}

// head is the beginning of a line that is too long, or of as much of it as was kept.
func (v *view) head(line string, cut bool) string {
	line = v.clean(line)
	if cut { // a secret whose end was not kept
		line = headBytes(line, max(len(line)-lineBeyond, 0))
	}
	return headChars(line, maxLineChars)
}

func (v *view) end() {
	if v.open {
		v.endLine()
	}
}

// headChars is the first n characters of s.
func headChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
