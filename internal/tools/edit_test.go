package tools

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dsh/internal/session"
)

// edited is a file that was read and then edited.
func edited(t *testing.T, text, old, new string, all bool) (*bench, Result) {
	t.Helper()
	b := newBench(t)
	b.put("f", text)
	b.must("read", "file_path", "f")
	return b, b.call("edit", "file_path", "f", "old_string", old, "new_string", new, "replace_all", all)
}

func TestED02UniqueMatchIsReplaced(t *testing.T) {
	t.Parallel()
	b, r := edited(t, "a\nb\nc\n", "b\n", "x\ny\n", false)
	b.holds("f", "a\nx\ny\nc\n")
	wantText(t, r.Text, "Edited "+b.path("f"), "line 2")
	b.only("f")
}

func TestED03NoMatchSaysWhatIsNear(t *testing.T) {
	t.Parallel()
	const file = "func main() {\n\tprintln(\"hello\")\n\treturn\n}\n\u201cquoted\u201d text\ncafe\u0301 here\n"
	for name, c := range map[string]struct {
		old  string
		want []string
	}{
		"indentation":     {"    println(\"hello\")", []string{"Line 2 differs in the whitespace at its ends", `"\tprintln(\"hello\")"`}},
		"inner space":     {"func  main() {", []string{"Line 1 differs in its whitespace"}},
		"quotes":          {`"quoted" text`, []string{"Line 5 differs in its quotes", "\u201cquoted\u201d"}},
		"accents":         {"caf\u00e9 here", []string{"Line 6 differs in how its accents are composed"}},
		"line numbers":    {"2: \tprintln(\"hello\")\n3: \treturn", []string{"line numbers that read shows"}},
		"later line":      {"func main() {\n\tprintln(\"hello\")\n\tpanic(1)\n}", []string{"Line 1 would match, but line 3 is", "return", "panic(1)"}},
		"past the end":    {"cafe\u0301 here\nmore", []string{"Line 6 would match", `"" where old_string has "more"`}},
		"similar":         {"println(\"hello, world\")", []string{"The nearest line is 2"}},
		"blank lines":     {"\n\nfunc main() {", []string{"1 line from line 1 on would match; what differs stands before or after"}},
		"nothing like it": {"zzzzqqqq", []string{"does not occur in"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := edited(t, file, c.old, "new", false)
			if r.Code != FSEditNotFound {
				t.Fatalf("got %+v", r)
			}
			wantText(t, r.Text, c.want...)
			if name == "nothing like it" && strings.Contains(r.Text, "ine") {
				t.Errorf("a hint at nothing: %q", r.Text)
			}
			b.holds("f", file)
		})
	}
}

func TestED04SeveralMatchesAreRefused(t *testing.T) {
	t.Parallel()
	b, r := edited(t, "x\na\nx\nb x\n", "x", "y", false)
	if r.Code != FSAmbiguousEdit {
		t.Fatalf("got %+v", r)
	}
	wantText(t, r.Text, "occurs 3 times", "lines 1, 3, 4", "replace_all")
	b.holds("f", "x\na\nx\nb x\n")

	b, r = edited(t, "aaa\n", "aa", "b", false)
	if r.Code != FSAmbiguousEdit {
		t.Errorf("overlapping places: got %+v", r)
	}
	b.holds("f", "aaa\n")
}

func TestED05ReplaceAll(t *testing.T) {
	t.Parallel()
	b, r := edited(t, "x\na\nx\nb x", "x", "yy", true)
	b.holds("f", "yy\na\nyy\nb yy")
	wantText(t, r.Text, "all of 3 occurrences", "lines 1, 3, 4")
	b, _ = edited(t, "a\n", "a", "b", true)
	b.holds("f", "b\n")
}

func TestED06BadArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "abc\ndef\n \n")
	b.must("read", "file_path", "f")
	for _, c := range [][]any{
		{"file_path", "f", "old_string", "abc", "new_string", "abc"},
		{"file_path", "f", "old_string", "", "new_string", "x"},
		{"file_path", " ", "old_string", "abc", "new_string", "x"},
		{"file_path", "f", "old_string", " ", "new_string", "x", "replace_all", true},
		{"file_path", "f", "old_string", " \n", "new_string", "x"},
		{"file_path", "f", "old_string", "abc"},
		{"file_path", "f", "old_string", "abc", "new_string", "x", "replace_all", "yes"},
	} {
		b.fails(InvalidArgs, "edit", c...)
		// A person is not asked about a call that cannot work.
		if call, bad := b.reg.Prepare("edit", args(c...)); bad == nil {
			if _, bad = call.Action(b.env()); bad == nil {
				t.Errorf("%v has an action", c)
			}
		}
	}
	b.holds("f", "abc\ndef\n \n")
}

func TestED08LineEndings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, old, new, want string
		all                  bool
	}{
		"CRLF file, LF strings":        {file: "a\r\nb\r\nc\r\n", old: "a\nb\n", new: "x\ny\nz\n", want: "x\r\ny\r\nz\r\nc\r\n"},
		"CRLF file, no newline in old": {file: "a\r\nb\r\n", old: "b", new: "x\ny", want: "a\r\nx\r\ny\r\n"},
		"CRLF, newline in front":       {file: "a\r\nb\r\n", old: "\nb", new: "\nx", want: "a\r\nx\r\n"},
		"CRLF, ends at the ending":     {file: "a\r\nb\r\n", old: "a", new: "x", want: "x\r\nb\r\n"},
		"last line without ending":     {file: "a\r\nb", old: "b", new: "b\nc", want: "a\r\nb\r\nc"},
		"LF file, CRLF in old":         {file: "a\nb\n", old: "a\r\nb", new: "x", want: "x\n"},
		"LF file, LF":                  {file: "a\nb\n", old: "a\nb", new: "x\ny", want: "x\ny\n"},
		"LF file, CRLF in new":         {file: "a\nb\n", old: "a", new: "x\r\ny", want: "x\r\ny\nb\n"},
		"mixed, LF place":              {file: "a\r\nb\nc\r\n", old: "b\n", new: "x\ny\n", want: "a\r\nx\ny\nc\r\n"},
		"mixed, CRLF place":            {file: "a\r\nb\nc\r\n", old: "a\n", new: "x\ny\n", want: "x\r\ny\r\nb\nc\r\n"},
		"mixed inside the match":       {file: "a\r\nb\nc\r\nd", old: "a\nb\nc", new: "x", want: "x\r\nd"},
		"mixed, replace all":           {file: "a\r\nb\na\nb\n", old: "a\nb", new: "x\ny", want: "x\r\ny\nx\ny\n", all: true},
		"exact CR wins":                {file: "a\r\nb\na\nb\n", old: "a\r\nb", new: "x\ny", want: "x\ny\na\nb\n"},
		"CRLF to LF":                   {file: "a\r\nb\r\n", old: "a\r\nb", new: "a\nb", want: "a\nb\r\n"},
		"lone CR":                      {file: "a\rb\r\nc", old: "b\nc", new: "x", want: "a\rx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := edited(t, c.file, c.old, c.new, c.all)
			if r.IsError {
				t.Fatal(r.Text)
			}
			b.holds("f", c.want)
		})
	}
	// Both look the same to the model, so it cannot mean one of them.
	b, r := edited(t, "a\r\nb\na\nb\n", "a\nb", "x", false)
	if r.Code != FSAmbiguousEdit {
		t.Errorf("got %+v", r)
	}
	b.holds("f", "a\r\nb\na\nb\n")
	if _, r = edited(t, "a\r\nb\r\n", "a\nb", "a\r\nb", false); r.Code != InvalidArgs {
		t.Errorf("an edit that changes nothing: %+v", r)
	}
}

func TestED09StaleComesBeforeNoMatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "old\n")
	b.must("read", "file_path", "f")
	b.put("f", "changed\n")
	b.fails(FSStaleVersion, "edit", "file_path", "f", "old_string", "absent", "new_string", "x")
}

func TestED10DeletedSinceRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("f", "old\n")
	b.must("read", "file_path", "f")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.fails(FSStaleVersion, "edit", "file_path", "f", "old_string", "old", "new_string", "x").Text, "deleted")
}

func TestED11SeenAbsent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fails(FSNotFound, "read", "file_path", "f")
	wantText(t, b.fails(FSNotFound, "edit", "file_path", "f", "old_string", "old", "new_string", "x").Text, "use write")
	b.put("f", "old\n") // and then it appeared
	b.fails(FSNotObserved, "edit", "file_path", "f", "old_string", "old", "new_string", "x")
	b.fails(FSNotObserved, "write", "file_path", "f", "content", "x")
	b.holds("f", "old\n")
}

func TestED12EditsFollowEachOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("write", "file_path", "f", "content", "a b c\n")
	for _, word := range []string{"a", "b", "c"} {
		b.must("edit", "file_path", "f", "old_string", word, "new_string", word+"!")
	}
	b.holds("f", "a! b! c!\n")
}

func TestED14SeenByAnotherPath(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("dir/f", "old\n")
	if err := os.Symlink("dir", b.path("link")); err != nil {
		t.Fatal(err)
	}
	b.must("read", "file_path", "dir/f")
	b.must("edit", "file_path", b.path("link")+"/./f", "old_string", "old", "new_string", "new")
	b.holds("dir/f", "new\n")
}

func TestED15SeenByAnotherAgent(t *testing.T) {
	t.Parallel()
	a := newBench(t)
	a.put("f", "old\n")
	a.must("read", "file_path", "f")
	a.other().fails(FSNotObserved, "edit", "file_path", "f", "old_string", "old", "new_string", "new")
	a.must("edit", "file_path", "f", "old_string", "old", "new_string", "new")
}

// That one of two edits of the same version loses is held with WR14. Here the calls are
// of two agents, and both edits are wanted: the loser reads again and both are there.
func TestED16ConcurrentEditsBothEndUpInTheFile(t *testing.T) {
	t.Parallel()
	a := newBench(t)
	a.put("f", "one two\n")
	b := a.other()
	done := make(chan bool, 2)
	for agent, word := range map[*bench]string{a: "one", b: "two"} {
		agent.must("read", "file_path", "f")
		go func() {
			for {
				r := agent.call("edit", "file_path", "f", "old_string", word, "new_string", strings.ToUpper(word))
				if r.Code != FSStaleVersion {
					done <- !r.IsError
					return
				}
				agent.call("read", "file_path", "f")
			}
		}()
	}
	if first, second := <-done, <-done; !first || !second {
		t.Error("an edit failed")
	}
	a.holds("f", "ONE TWO\n")
}

func TestED17EditRefusesWhatIsNotText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"C02 Latin-1":   "const x = 1;\n// caf\xe9 note\n",
		"C02 GBK":       "\xc4\xe3\xba\xc3\nconst x = 1;\n",
		"C02 Shift_JIS": "\x82\xa0const x = 1;\n",
		"C02 UTF-16LE":  "\xff\xfex\x00",
		"NUL":           "const x = 1;\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			path := b.put("f", text)
			v := versionOf(path, []byte(text))
			b.remember(Result{Meta: session.ResultMeta{Seen: []session.FileVersion{v}}})
			r := b.fails(FSNotText, "edit", "file_path", "f", "old_string", "const x = 1;", "new_string", "const x = 2;")
			wantText(t, r.Text, "edit leave it alone")
			b.holds("f", text)
		})
	}
}

func TestED18ResultCards(t *testing.T) {
	t.Parallel()
	text := numbered(30)
	b := newBench(t)
	b.put("f", strings.TrimSuffix(text, "\n")) // no final newline
	b.must("read", "file_path", "f")
	raw := args("file_path", "f", "old_string", "line 1", "new_string", "LINE 1")
	pending := b.reg.Present("edit", raw, nil)
	if pending.Kind != session.ShowDiff || pending.Verb != "Edit" || pending.Target != "f" || fmt.Sprint(pending.Facts) != "[+1 -1]" ||
		fmt.Sprintf("%q", pending.Diffs[0].Hunks[0].Lines) != `["-line 1" "+LINE 1"]` {
		t.Errorf("pending %+v", pending)
	}
	r := b.must("edit", "file_path", "f", "old_string", "line 30", "new_string", "line 30!")
	got := b.reg.Present("edit", raw, logged(r))
	want := session.Hunk{OldStart: 27, NewStart: 27, Lines: []string{" line 27", " line 28", " line 29", "-line 30", "+line 30!"}}
	if len(got.Diffs) != 1 || len(got.Diffs[0].Hunks) != 1 || fmt.Sprint(got.Diffs[0].Hunks[0]) != fmt.Sprint(want) || fmt.Sprint(got.Facts) != "[+1 -1]" {
		t.Errorf("got %+v", got)
	}
	// Two places far apart are two hunks, with the lines of the file.
	b.must("edit", "file_path", "f", "old_string", "line 1\n", "new_string", "line one\nand more\n")
	r = b.must("edit", "file_path", "f", "old_string", "5\n", "new_string", "five\n", "replace_all", true)
	hunks := r.Meta.Display.Diffs[0].Hunks
	if len(hunks) != 3 || hunks[0].OldStart != 3 || hunks[1].OldStart != 13 || hunks[2].OldStart != 23 || len(hunks[1].Lines) != 8 {
		t.Errorf("got %+v", hunks)
	}
	if fmt.Sprint(r.Meta.Display.Facts) != "[+3 -3]" {
		t.Errorf("facts %v", r.Meta.Display.Facts)
	}
}

// What was seen is in the log, so it survives a resume; the version is checked as ever.
func TestED21SeenIsRebuiltFromTheLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "old old\n")
	b.put("g", "old\n")
	log := []*session.ToolResult{logged(b.must("read", "file_path", "f")), logged(b.must("read", "file_path", "g"))}
	b.put("g", "changed while nobody ran\n")
	resumed := b.other()
	for _, r := range log {
		meta, ok := session.DecodeMeta(r.Meta)
		if !ok {
			t.Fatalf("meta %s", r.Meta)
		}
		resumed.remember(Result{Meta: meta})
	}
	resumed.must("edit", "file_path", "f", "old_string", "old old", "new_string", "new")
	resumed.fails(FSStaleVersion, "edit", "file_path", "g", "old_string", "old", "new_string", "new")
}

func TestC11ApprovalIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, pairs []any) {
		b.put("f", "old text\n")
		b.must("read", "file_path", "f")
		call, bad := b.reg.Prepare(tool, args(pairs...))
		if bad != nil {
			t.Fatal(bad.Text)
		}
		if _, bad = call.Action(b.env()); bad != nil {
			t.Fatal(bad.Text)
		}
		b.put("f", "old text\nUSER LINE\n") // while a person was asked
		if r := call.Run(t.Context(), b.env()); r.Code != FSStaleVersion {
			t.Errorf("got %+v", r)
		}
		b.holds("f", "old text\nUSER LINE\n")
	})
}

func TestC12ManyReplacementsInOneLine(t *testing.T) {
	t.Parallel()
	const n = 200000
	b, r := edited(t, strings.Repeat("k ", n), "k", "k\n", true)
	if r.IsError {
		t.Fatal(r.Text)
	}
	b.holds("f", strings.Repeat("k\n ", n))
}

func TestC03EditKeepsTheByteOrderMark(t *testing.T) {
	t.Parallel()
	const bom = "\xef\xbb\xbf"
	b, r := edited(t, bom+"hello\n\u4e2d\u6587\n", "hello", "hello2", false)
	b.holds("f", bom+"hello2\n\u4e2d\u6587\n")
	if r.IsError {
		t.Fatal(r.Text)
	}
	b, _ = edited(t, bom+"hello\n", bom+"hello\n", "bye\n", false) // the model may have it from elsewhere
	b.holds("f", bom+"bye\n")
	b, _ = edited(t, "hello\n", "hello", "bye", false)
	b.holds("f", "bye\n")
}

func TestC05OnlyTheMatchChanges(t *testing.T) {
	t.Parallel()
	b, _ := edited(t, "untouched   \nreplace me   \nafter\ntrailing   \n", "replace me   \nafter", "D1\nD2", false)
	b.holds("f", "untouched   \nD1\nD2\ntrailing   \n")
	const file = "untouched   \nreplace me   \nafter\n\u201ccurly\u201d\n"
	for _, old := range []string{"replace me\nafter", `"curly"`} {
		b, r := edited(t, file, old, "x", false)
		if r.Code != FSEditNotFound {
			t.Errorf("%q: %+v", old, r)
		}
		b.holds("f", file)
	}
}

func TestC06TextIsTakenLiterally(t *testing.T) {
	t.Parallel()
	const literal = "log(\"$& $$ $1 $` $' ${x} \\1 %s %d\");"
	b, r := edited(t, "log(\"done\");\n", `log("done");`, literal, false)
	b.holds("f", literal+"\n")
	wantText(t, r.Text, "line 1.")
	b, _ = edited(t, "q q", "q", "$1%d", true)
	b.holds("f", "$1%d $1%d")
	b, _ = edited(t, "a.*(b)[c] axxb\n", "a.*(b)[c]", "z", false)
	b.holds("f", "z axxb\n")
}

func TestC12NoNewlineIsAdded(t *testing.T) {
	t.Parallel()
	b, _ := edited(t, "no newline", "no", "yes", false)
	b.holds("f", "yes newline")
	b, _ = edited(t, "gone\n", "gone\n", "", false)
	b.holds("f", "")
	b, r := edited(t, "", "x", "y", false)
	if r.Code != FSEditNotFound {
		t.Errorf("got %+v", r)
	}
	b.holds("f", "")
}
