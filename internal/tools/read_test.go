package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"dsh/internal/session"
)

func numbered(n int) string {
	var sb strings.Builder
	for i := range n {
		fmt.Fprintf(&sb, "line %d\n", i+1)
	}
	return sb.String()
}

func TestRD01ReadNumbersLinesAndEndsWithATotal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("a.txt", "one\ntwo\nthree\n")
	r := b.must("read", "file_path", path)
	want := "<path>" + path + "</path>\n<type>file</type>\n<content>\n1: one\n2: two\n3: three\n\n(end of file, 3 lines in total)\n</content>"
	if r.Text != want {
		t.Errorf("got %q\nwant %q", r.Text, want)
	}
}

func TestRD02ReadStopsAtTheLineLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.txt", numbered(5000))
	r := b.must("read", "file_path", "a.txt")
	wantText(t, r.Text, "\n2000: line 2000\n", "(lines 1-2000 of 5000; continue with offset=2001)")
	if strings.Contains(r.Text, "2001: ") {
		t.Error("line 2001 is shown")
	}
	if got := r.Meta.Display.Facts[0]; got != "lines 1-2000 of 5000" {
		t.Errorf("fact %q", got)
	}
}

func TestRD03ReadShowsAWindow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.txt", numbered(5000))
	r := b.must("read", "file_path", "a.txt", "offset", 4001, "limit", 10)
	got := strings.Split(content(r.Text), "\n")
	if len(got) != 12 || got[0] != "4001: line 4001" || got[9] != "4010: line 4010" {
		t.Errorf("got %q", got)
	}
	wantText(t, r.Text, "(lines 4001-4010 of 5000; continue with offset=4011)")
}

func TestRD04OffsetPastTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.txt", numbered(3))
	wantText(t, b.fails(FSNotFound, "read", "file_path", "a.txt", "offset", 4).Text, "offset 4", "3 lines")
	b.must("read", "file_path", "a.txt", "offset", 3)
}

func TestRD05EmptyFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, text := range map[string]string{"empty.txt": "", "bom.txt": "\xef\xbb\xbf"} {
		b.put(name, text)
		r := b.must("read", "file_path", name)
		if got := content(r.Text); got != "(end of file, 0 lines in total)" {
			t.Errorf("%s: %q", name, got)
		}
		b.fails(FSNotFound, "read", "file_path", name, "offset", 2)
	}
}

func TestRD07ReadStopsAtTheByteCap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	line := strings.Repeat("x", 1023) + "\n"
	b.put("a.txt", strings.Repeat(line, 100))
	r := b.must("read", "file_path", "a.txt")
	wantText(t, r.Text, "\n50: xxx", "(lines 1-50 of 100, stopped at 50 KiB; continue with offset=51)")
	if strings.Contains(r.Text, "\n51: ") {
		t.Error("line 51 is shown")
	}
	if len(r.Text) > maxReadBytes+4096 {
		t.Errorf("result has %d bytes", len(r.Text))
	}
}

func TestRD08ReadHidesCarriageReturnsAndTheByteOrderMark(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.txt", "\xef\xbb\xbfone\r\ntwo\r\nlast\r\n")
	r := b.must("read", "file_path", "a.txt")
	if strings.ContainsAny(r.Text, "\r\ufeff") {
		t.Errorf("got %q", r.Text)
	}
	wantText(t, r.Text, "1: one\n2: two\n3: last\n", "3 lines in total")
}

func TestRD09ReadRefusesWhatIsNotText(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("text\n", 40000)
	for name, text := range map[string]string{
		"NUL at the start":            "a\x00b",
		"NUL behind the first chunk":  far + "\x00",
		"Latin-1":                     "caf\xe9 note\n",
		"GBK":                         "\xc4\xe3\xba\xc3\nx=1\n",
		"Shift_JIS":                   "\x82\xa0\nx=1\n",
		"UTF-16LE":                    "\xff\xfex\x00\n\x00",
		"lone surrogate":              "\xed\xa0\x80",
		"cut character at the end":    far + "\xc3",
		"bad byte behind first chunk": far + "\xff\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put("f", text)
			r := b.fails(FSNotText, "read", "file_path", "f")
			if len(r.Meta.Seen) != 0 {
				t.Error("a file that was not shown counts as seen")
			}
			const says = "is not text: it holds NUL bytes or is not UTF-8"
			wantText(t, r.Text, "The tools read, write and edit leave it alone")
			// C02: no write-back, and no advice to read it, which would lead back here
			wantText(t, b.fails(FSNotText, "write", "file_path", "f", "content", "x").Text, says)
			wantText(t, b.fails(FSNotText, "edit", "file_path", "f", "old_string", "x", "new_string", "y").Text, says)
			b.holds("f", text)
		})
	}
}

// A character that falls on a chunk's border is whole.
func TestRD09ReadJoinsCharactersAcrossChunks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for shift := range 4 {
		text := strings.Repeat("x", shift) + strings.Repeat("\U0001F600\n", chunkSize/5+10)
		b.put("f", text)
		r := b.must("read", "file_path", "f", "offset", chunkSize/5-3, "limit", 20)
		for line := range strings.Lines(content(r.Text)) {
			if _, shown, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && shown != "\U0001F600" {
				t.Fatalf("shift %d: %q", shift, line)
			}
		}
	}
}

func TestRD10ReadRefusesWhatIsNotAFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("sub/inner.txt", "x")
	b.put("sub/deep/x", "x")
	wantText(t, b.fails(FSNotRegular, "read", "file_path", "sub").Text, "directory", "deep/, inner.txt")
	if err := syscall.Mkfifo(b.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.fails(FSNotRegular, "read", "file_path", "pipe").Text, "named pipe")
	wantText(t, b.fails(FSNotRegular, "read", "file_path", "/dev/zero").Text, "device")
	l, err := net.Listen("unix", b.path("sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wantText(t, b.fails(FSNotRegular, "read", "file_path", "sock").Text, "socket")
	for i := range 50 {
		b.put(fmt.Sprintf("many/%02d", i), "")
	}
	wantText(t, b.fails(FSNotRegular, "read", "file_path", "many").Text, "19 and 30 more")
	b.fails(FSNotDirectory, "read", "file_path", "sub/inner.txt/x")
}

func TestRD11MissingFileIsRememberedAsAbsent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.fails(FSNotFound, "read", "file_path", "gone.txt")
	want := session.FileVersion{Path: b.path("gone.txt"), Absent: true}
	if len(r.Meta.Seen) != 1 || r.Meta.Seen[0] != want {
		t.Errorf("seen %+v, want %+v", r.Meta.Seen, want)
	}
	b.must("write", "file_path", "gone.txt", "content", "now")
}

// endless is a file of one long line.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.left))
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= int64(n)
	return n, nil
}

func TestRD13OneHugeLineTakesBoundedMemory(t *testing.T) {
	t.Parallel()
	v := &view{first: 1, limit: maxReadLines, clean: clean}
	const size = 32 << 20
	if err := scanText(t.Context(), place{}, &endless{size}, v, newDigest()); err != nil {
		t.Fatal(err)
	}
	if v.total != 1 || v.shown != 1 || v.text.Len() > 3000 || cap(v.line) > 4*maxLineChars*4 {
		t.Errorf("total %d, shown %d, %d bytes of text, buffer of %d", v.total, v.shown, v.text.Len(), cap(v.line))
	}
	wantText(t, v.text.String(), "[line cut after 2000 characters]")
}

func TestRD13LongLinesAreCutInCharacters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	exact := strings.Repeat("\u4e2d", maxLineChars)
	b.put("f", exact+"\r\n"+exact+"!\nshort\n")
	got := strings.Split(content(b.must("read", "file_path", "f").Text), "\n")
	if got[0] != "1: "+exact {
		t.Error("a line of exactly the limit is not shown whole")
	}
	if got[1] != "2: "+exact+" [line cut after 2000 characters]" {
		t.Errorf("a longer line: %q", clip(got[1]))
	}
}

func TestRD14ReadRejectsBadWindows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", numbered(3))
	for _, bad := range []any{0, -1, 1.5, "2", nil} {
		b.fails(InvalidArgs, "read", "file_path", "f", "limit", bad)
		b.fails(InvalidArgs, "read", "file_path", "f", "offset", bad)
	}
	b.fails(InvalidArgs, "read", "file_path", " ")
	b.fails(InvalidArgs, "read", "file_path", "a\x00b")
	call, bad := b.reg.Prepare("read", `{"file_path":"f","offset":2.0,"limit":1e300}`)
	if bad != nil {
		t.Fatal(bad.Text)
	}
	wantText(t, call.Run(t.Context(), b.env()).Text, "2: line 2\n3: line 3\n")
}

func TestRD15LimitIsClamped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", numbered(3000))
	wantText(t, b.must("read", "file_path", "f", "limit", 9999).Text, "(lines 1-2000 of 3000; continue with offset=2001)")
}

func TestRD16RelativePathsResolveAgainstTheSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("sub/f", "here\n")
	wantText(t, b.must("read", "file_path", "sub/../sub/f").Text, "<path>"+b.path("sub/f")+"</path>", "1: here")
	b.fails(FSNotFound, "read", "file_path", "~/f")
}

func TestRD17ReadCards(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", numbered(5))
	for raw, want := range map[string]string{
		args("file_path", "f"):                          "Read f []",
		args("file_path", "f", "offset", 3):             "Read f [from line 3]",
		args("file_path", "f", "offset", 3, "limit", 2): "Read f [lines 3-4]",
		args("file_path", "f", "limit", 2):              "Read f [lines 1-2]",
	} {
		d := b.reg.Present("read", raw, nil)
		if got := fmt.Sprintf("%s %s %v", d.Verb, d.Target, d.Facts); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	d := b.reg.Present("read", args("file_path", "f"), logged(b.must("read", "file_path", "f")))
	if d.Kind != session.ShowText || fmt.Sprint(d.Facts) != "[5 lines]" || !strings.HasPrefix(d.Text, "1: line 1\n") {
		t.Errorf("result card %+v", d)
	}
	d = b.reg.Present("read", args("file_path", "gone"), logged(b.call("read", "file_path", "gone")))
	if fmt.Sprint(d.Facts) != "[not found]" || !strings.Contains(d.Text, "no such file") {
		t.Errorf("failed card %+v", d)
	}
}

func TestReadStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	src := io.MultiReader(&endless{chunkSize * 3}, readerFunc(func([]byte) (int, error) { cancel(); return 0, nil }), &endless{1 << 50})
	err := scanText(ctx, place{}, src, &view{first: 1, limit: 1, clean: clean}, newDigest())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) {
	f(p)
	return 0, io.EOF
}

// C08: names that look the same.
func TestC08LookAlikeNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nfd := "Sni\u0301mek\u00a0v.txt"
	b.put("Screenshot 1.01.11\u202fAM.txt", "shot\n")
	b.put(nfd, "snimek\n")
	b.put("\u1112\u1161\u11ab.txt", "hangul\n")
	b.put("d\u00e9j\u00e0/it\u2019s.txt", "both\n")
	for asked, want := range map[string]string{
		"Screenshot 1.01.11 AM.txt": "shot",
		"Sn\u00edmek v.txt":         "snimek",
		"\ud55c.txt":                "hangul",
		"de\u0301ja\u0300/it's.txt": "both",
	} {
		r := b.must("read", "file_path", asked)
		wantText(t, r.Text, "1: "+want, "<note>There is no ", "looks the same")
	}
	// What was read under the plain name can be edited under it.
	b.must("edit", "file_path", "Sn\u00edmek v.txt", "old_string", "snimek", "new_string", "edited")
	b.holds(nfd, "edited\n")

	// The exact name comes first.
	b.put("Screenshot 1.01.11 AM.txt", "plain\n")
	if r := b.must("read", "file_path", "Screenshot 1.01.11 AM.txt"); strings.Contains(r.Text, "note") {
		t.Errorf("got %q", r.Text)
	}
	// Several are an error that names them.
	b.put("x\u00a0y", "1")
	b.put("x\u202fy", "2")
	wantText(t, b.fails(FSAmbiguousName, "read", "file_path", "x y").Text, `x\u00a0y`, `x\u202fy`)
}

// C12: sizes and kinds.
func TestC12BigSingleLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	big := "{" + strings.Repeat(`"k": 1, `, 1<<20) + `"last": true}`
	b.put("big.json", big)
	wantText(t, b.must("read", "file_path", "big.json").Text, "line cut after", "1 line in total")
	r := b.must("edit", "file_path", "big.json", "old_string", `"last": true`, "new_string", `"last": false`)
	if len(r.Text) > 1000 {
		t.Errorf("the result has %d bytes", len(r.Text))
	}
	if meta, err := json.Marshal(r.Meta); err != nil || len(meta) > 10<<10 {
		t.Errorf("the meta has %d bytes", len(meta))
	}
	got, err := os.ReadFile(b.path("big.json"))
	if err != nil || string(got) != strings.Replace(big, "true", "false", 1) {
		t.Error("the file is not as edited")
	}
}
