package tools

import (
	"strings"
	"testing"
)

func TestRD09ReadSaysWhatAFileMayBe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct{ content, want string }{
		"utf16le":   {"\xff\xfeh\x00i\x00", "probably UTF-16LE"},
		"utf16be":   {"\xfe\xff\x00h\x00i", "probably UTF-16BE"},
		"unmarked":  {"h\x00e\x00l\x00l\x00o\x00", "probably UTF-16LE"},
		"utf32":     {"\xff\xfe\x00\x00h\x00\x00\x00", "probably UTF-32LE"},
		"latin1":    {"const x = 1;\n// caf\xe9 note\n", "probably ISO-8859-1"},
		"far":       {strings.Repeat("plain text\n", 20_000) + "caf\xe9\n", "probably ISO-8859-1"},
		"cp1252":    {"\x93quoted\x94 caf\xe9\n", "`iconv -f WINDOWS-1252 -t UTF-8`"},
		"gbk":       {"\xc4\xe3\xba\xc3\nx=1\n", "holds NUL bytes or is not UTF-8"},
		"program":   {"\x7fELF\x02\x01\x01\x00\x00\xe9", "holds NUL bytes or is not UTF-8"},
		"image.png": {"\x89PNG\r\n\x1a\n\x00\x00", "is an image (PNG), and read shows text only"},
		"image":     {"RIFF\x10\x00\x00\x00WEBPVP8 ", "is an image (WebP)"},
	} {
		b.put(name, c.content)
		wantText(t, b.fails(FSNotText, "read", "file_path", name).Text, c.want)
	}
}
