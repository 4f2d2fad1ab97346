package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stored is a closed log of two turns, as lines: header first.
func storedLines(t testing.TB, chunks int) (h Header, lines []string) {
	t.Helper()
	l := newLog(t)
	wholeTurn(t, l, chunks)
	wholeTurn(t, l, chunks)
	mustClose(t, l)
	return l.Header(), linesOf(t, l.path)
}

// openLines opens a log made of content, in a store of its own.
func openLines(t testing.TB, h Header, content string) (*Log, Opened, error) {
	t.Helper()
	root := t.TempDir()
	path := writeLog(t, root, h, content)
	l, opened, err := Open(root, path)
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return l, opened, err
}

func TestF01TornTails(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 4)
	whole := strings.Join(lines, "")
	last := lines[len(lines)-1]
	wide, err := appendEvent(nil, Event{Type: TypeTitle, Seq: len(eventsOf(t, lines)), Time: 1, Data: Title{"日本"}})
	if err != nil {
		t.Fatal(err)
	}
	inRune := string(wide[:strings.Index(string(wide), "本")+1])
	for name, c := range map[string]struct {
		content string
		cut     int
		keeps   int // lines, header included
	}{
		"JL06 seven bytes missing":   {whole[:len(whole)-7], len(last) - 7, len(lines) - 1},
		"only the newline missing":   {whole[:len(whole)-1], 0, len(lines)},
		"cut inside a character":     {whole + inRune, len(inRune), len(lines)},
		"torn, then a blank line":    {whole + `{"type":"sess` + "\n\n", 15, len(lines)},
		"NUL bytes":                  {whole + strings.Repeat("\x00", 300), 300, len(lines)},
		"NUL bytes and newline":      {whole + strings.Repeat("\x00", 300) + "\n", 301, len(lines)},
		"JL09 header only":           {lines[0], 0, 1},
		"header without its newline": {strings.TrimSuffix(lines[0], "\n"), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, opened, err := openLines(t, h, c.content)
			if err != nil {
				t.Fatal(err)
			}
			if opened.Cut.Bytes != int64(c.cut) {
				t.Errorf("cut %d bytes, want %d", opened.Cut.Bytes, c.cut)
			}
			if halved := c.cut > 0 && !strings.HasSuffix(c.content, "\n"); halved != (c.cut > 0 && opened.Kept == "") {
				t.Errorf("kept %q of %+v", opened.Kept, opened.Cut)
			}
			mustAppend(t, l, title("after the crash"))
			mustClose(t, l)
			got := linesOf(t, l.path)
			if want := lines[:c.keeps]; !slices.Equal(got[:c.keeps], want) {
				t.Errorf("the kept lines changed")
			}
			evs := valid(t, l.path)
			if evs[len(evs)-1].Data != (Title{"after the crash"}) {
				t.Error("the new event is lost")
			}
		})
	}
}

// eventsOf decodes the lines of a log.
func eventsOf(t testing.TB, lines []string) (evs []Event) {
	t.Helper()
	for _, line := range lines[1:] {
		more, err := decodeLine([]byte(strings.TrimSuffix(line, "\n")), len(evs), 0)
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, more...)
	}
	return evs
}

func TestF01AnEmptyFileIsNoSession(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := writeLog(t, root, Header{ID: "x"}, "")
	var damaged *DamagedError
	if _, _, err := Open(root, path); !errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
}

func TestF02DamageBeforeATurnEndIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 4)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"turn/end"`) }) // of the first turn
	for name, bad := range map[string]string{
		"NUL block":      strings.Repeat("\x00", 300) + "\n",
		"torn":           `{"type":` + "\n",
		"12 MB of noise": strings.Repeat("x", 12<<20) + "\n",
		"blank":          "\n",
		"array":          "[1,2]\n",
		"invalid UTF-8":  "\xff\xfe\n",
		"no event":       `{"type":"session/title","data":{"title":"x"},"more":1}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := strings.Join(lines[:at], "") + bad + strings.Join(lines[at:], "")
			_, _, err := openLines(t, h, content)
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.Line != at+1 {
				t.Errorf("got %v, want damage in line %d", err, at+1)
			}
		})
		t.Run("JL07 in the tail: "+name, func(t *testing.T) {
			t.Parallel()
			// Without a later turn/end, a crash explains it.
			l, opened, err := openLines(t, h, strings.Join(lines[:at], "")+bad+lines[at][:5])
			if err != nil || opened.Cut.Bytes != int64(len(bad)+5) {
				t.Fatalf("cut %d, %v", opened.Cut.Bytes, err)
			}
			valid(t, l.path)
			kept, err := os.ReadFile(filepath.Join(filepath.Dir(l.path), "cut-1.jsonl"))
			if err != nil || string(kept) != bad+lines[at][:5] || opened.Kept == "" {
				t.Errorf("kept %d bytes in %q, %v", len(kept), opened.Kept, err)
			}
			if opened.Cut.Line != at+1 || opened.Cut.Follow != 1 || opened.Cut.Cause == nil {
				t.Errorf("told of %+v", opened.Cut)
			}
		})
	}
}

func TestJL07GoodRecordsBehindADamagedOneAreKeptAside(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 4)
	open := lines[:len(lines)-2] // the last turn has no end
	content := strings.Join(open[:len(open)-3], "") + "damage\n" + strings.Join(open[len(open)-2:], "")
	root := t.TempDir()
	path := writeLog(t, root, h, content)
	earlier := filepath.Join(filepath.Dir(path), "cut-1.jsonl")
	if err := os.WriteFile(earlier, []byte("of an earlier time"), fileMode); err != nil {
		t.Fatal(err)
	}
	s, err := Read(path)
	if err != nil || s.Torn || !s.Tail.Damaged() || s.Tail.Line != len(open)-2 || s.Tail.Follow != 2 {
		t.Fatalf("a reader is told of %+v, %v", s.Tail, err)
	}
	l, opened, err := Open(root, path)
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	valid(t, path)
	cut := "damage\n" + strings.Join(open[len(open)-2:], "")
	kept, err := os.ReadFile(opened.Kept)
	if err != nil || string(kept) != cut || filepath.Base(opened.Kept) != "cut-2.jsonl" || opened.Cut.Bytes != int64(len(cut)) {
		t.Errorf("kept %q in %s, told of %+v, %v", kept, opened.Kept, opened.Cut, err)
	}
	if info, err := os.Stat(opened.Kept); err != nil || info.Mode().Perm() != fileMode {
		t.Errorf("the kept file is %v, %v", info, err)
	}
	if b, _ := os.ReadFile(earlier); string(b) != "of an earlier time" {
		t.Error("an earlier cut was overwritten")
	}
}

func TestJL07NothingIsCutThatCannotBeKept(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 0)
	content := strings.Join(lines[:4], "") + "damage\nmore\n"
	root := t.TempDir()
	path := writeLog(t, root, h, content)
	for n := range maxKept {
		if err := os.Symlink("nowhere", filepath.Join(filepath.Dir(path), fmt.Sprintf(keptName, n+1))); err != nil {
			t.Fatal(err)
		}
	}
	var write *WriteError
	if _, _, err := Open(root, path); !errors.As(err, &write) {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != content {
		t.Error("the log was cut")
	}
}

func TestOpenTellsOfALogThatDoesNotVerify(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 4)
	n := len(lines) - 1
	for name, c := range map[string]struct{ old, new, why string }{
		"in order":        {"", "", ""},
		"time backwards":  {`"time":1`, `"time":`, "before"},
		"a turn left out": {`"turn":2`, `"turn":3`, "names step 3.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := slices.Clone(lines)
			changed[n-1] = strings.Replace(changed[n-1], c.old, c.new, 1)
			l, opened, err := openLines(t, h, strings.Join(changed, ""))
			if err != nil {
				t.Fatal(err)
			}
			if c.why == "" {
				if opened.Odd != nil {
					t.Errorf("told of %v", opened.Odd)
				}
				return
			}
			events := eventsOf(t, changed)
			want := Check(l.Header(), slices.Values(events))
			if want == nil || opened.Odd == nil || opened.Odd.Error() != want.Error() || !strings.Contains(want.Error(), c.why) {
				t.Errorf("told of %v, Check says %v", opened.Odd, want)
			}
		})
	}
}

func TestF02WhatStandsBeforeDamageIsRead(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 4)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"turn/end"`) })
	path := writeLog(t, t.TempDir(), h, strings.Join(lines[:at], "")+"damage\n"+strings.Join(lines[at:], ""))
	s, err := Read(path)
	var damaged *DamagedError
	if !errors.As(err, &damaged) || s == nil {
		t.Fatalf("read %v, %v", s, err)
	}
	got := slices.Collect(s.Events())
	if want := eventsOf(t, lines[:at]); s.Err() != nil || text(t, got) != text(t, want) || s.State().Events != len(want) || len(s.Closers()) > 0 {
		t.Errorf("read %d events, %v", len(got), s.Err())
	}
}

func TestF02ATwelveMegabyteEventIsFine(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	big := strings.Repeat("x", 12<<20)
	mustAppend(t, l, queued("big", big), title("after"))
	mustClose(t, l)
	again, opened := mustOpen(t, l)
	if opened.Cut.Bytes != 0 || opened.Held[0].Text != big || again.State().Title != "after" {
		t.Error("the long line was not read back")
	}
}

func TestSE12ASeqGapIsDamageOrATail(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 0)
	gap := slices.Concat(lines[:5], lines[6:])
	_, _, err := openLines(t, h, strings.Join(gap, ""))
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.Line != 6 {
		t.Errorf("got %v, want damage in line 6", err)
	}
	n := len(lines)
	l, opened, err := openLines(t, h, strings.Join(lines[:n-3], "")+lines[n-2])
	if err != nil || opened.Cut.Bytes != int64(len(lines[n-2])) {
		t.Fatalf("cut %d, %v", opened.Cut.Bytes, err)
	}
	valid(t, l.path)
}

func TestPS21ANewerVersionIsSaidBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"JL05 a foreign shape": `{"version":7,"magic":[1,2,3],"id":{"x":1}}`,
		"the usual shape":      `{"type":"session","version":1,"id":"x","createdAt":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			path := writeLog(t, root, Header{ID: "x"}, line+"\n"+`{"type":"who/knows"}`+"\n")
			_, _, err := Open(root, path)
			var newer *NewerError
			if !errors.As(err, &newer) || newer.Path != path || !strings.Contains(err.Error(), "upgrade") {
				t.Errorf("open: %v", err)
			}
			if _, err := Read(path); !errors.As(err, &newer) {
				t.Errorf("read: %v", err)
			}
			// The lock must be free again.
			if lock, err := lockDir(filepath.Dir(path)); err != nil {
				t.Error(err)
			} else {
				lock.release()
			}
		})
	}
}

func TestJL04AFileWithABadHeaderIsDamage(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"missing":       `{"type":"session/title","seq":0,"time":1,"data":{"title":"x"}}`,
		"not JSON":      `hello`,
		"no object":     `[0]`,
		"wrong tag":     `{"type":"sessions","version":0,"id":"x","createdAt":1}`,
		"PS02 fraction": `{"type":"session","version":0,"id":"x","createdAt":1.5}`,
		"negative":      `{"type":"session","version":0,"id":"x","createdAt":-1}`,
		"minus zero":    `{"type":"session","version":0,"id":"x","createdAt":-0}`,
		"relative cwd":  `{"type":"session","version":0,"id":"x","createdAt":1,"cwd":"a"}`,
		"torn":          `{"type":"session","version":0,"id":"x","crea`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			path := writeLog(t, root, Header{ID: "x"}, line+"\n")
			var damaged *DamagedError
			if _, _, err := Open(root, path); !errors.As(err, &damaged) || damaged.Line != 1 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestJL13AHeaderInTheWrongPlaceIsRefusedBeforeRepair(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 0)
	root := t.TempDir()
	content := strings.Join(lines, "")[:200] // torn, to see that nothing is repaired
	h.ID = "another"
	path := writeLog(t, root, h, content)
	var damaged *DamagedError
	if _, _, err := Open(root, path); !errors.As(err, &damaged) || damaged.Line != 1 {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != content {
		t.Error("the file changed")
	}
	if list, err := List(root); err != nil || len(list) != 1 || list[0].Damaged == nil {
		t.Errorf("the list shows %v, %v", list, err)
	}
}

func TestPS23UnknownEvents(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 0)
	n := len(lines) - 1 // events
	unknown := fmt.Sprintf(`{"type":"future/thing","seq":%d,"time":9000000000000,"data":{"a": 1.50}`, n)
	t.Run("required", func(t *testing.T) {
		t.Parallel()
		l, _, err := openLines(t, h, strings.Join(lines, "")+unknown+"}\n")
		if err == nil {
			l.Close()
			t.Fatal("accepted")
		}
		for _, want := range []string{"future/thing", logName, fmt.Sprint("line ", n+2)} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not name %s", err, want)
			}
		}
	})
	t.Run("ignorable", func(t *testing.T) {
		t.Parallel()
		l, _, err := openLines(t, h, strings.Join(lines, "")+unknown+`,"ignorable":true}`+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := valid(t, l.path)[n]; string(got.Data.(Raw).Data) != `{"a": 1.50}` {
			t.Errorf("kept as %s", got.Data.(Raw).Data)
		}
	})
}

func TestJL12APackedRowStandsOrFallsWhole(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 5)
	isRow := func(l string) bool { return strings.Contains(l, `"text-chunks"`) }
	first := slices.IndexFunc(lines, isRow)
	broken := slices.Clone(lines)
	broken[first] = strings.Replace(broken[first], `"dt":[`, `"dt":[0,`, 1)
	_, _, err := openLines(t, h, strings.Join(broken, ""))
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		t.Errorf("committed: %v", err)
	}
	l, opened, err := openLines(t, h, strings.Join(broken[:first+1], ""))
	if err != nil || opened.Cut.Bytes != int64(len(broken[first])) {
		t.Fatalf("in the tail: cut %d, %v", opened.Cut.Bytes, err)
	}
	if slices.ContainsFunc(valid(t, l.path), func(ev Event) bool { return ev.Type == TypeAssistantChunk }) {
		t.Error("a part of the row was kept")
	}
}

func TestJL11SkippedRowsCountAsDecodedOnes(t *testing.T) {
	t.Parallel()
	for _, chunks := range []int{1, 2, 3, 50} {
		h, lines := storedLines(t, chunks)
		root := t.TempDir()
		path := writeLog(t, root, h, strings.Join(lines, ""))
		ld, err := loadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := eventsOf(t, lines)
		if ld.next != len(all) || text(t, ld.events) != text(t, withoutChunks(slices.Values(all))) {
			t.Errorf("%d chunks: loaded %d events up to %d, want up to %d", chunks, len(ld.events), ld.next, len(all))
		}
	}
}

func TestChunksAreNeededAgainWhenTheirMessageIsCut(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	mustAppend(t, l, answered(turn, stream(t, l, turn, 6)), Draft{Data: StepEnd{turn, 1}})
	mustClose(t, l)
	lines := linesOf(t, l.path)
	n := len(lines)
	if !strings.HasPrefix(lines[n-2], string(messagePrefix)) {
		t.Fatal("the message is not where the test cuts")
	}
	// A bad line before the message: the message goes, its chunks come back.
	l, opened, err := openLines(t, l.Header(), strings.Join(lines[:n-2], "")+"\x00\n"+lines[n-2]+lines[n-1])
	if err != nil {
		t.Fatal(err)
	}
	evs := valid(t, l.path)
	got := evs[slices.IndexFunc(evs, func(ev Event) bool { return ev.Type == TypeAssistantMessage })].Data.(AssistantMessage)
	if !got.Interrupted || got.Message.PlainText() != "w0 w1 w2 w3 w4 w5 " || len(opened.Closed) == 0 {
		t.Errorf("what was streamed came back as %+v", got)
	}
}

// TestATruncatedLogOpens cuts a log at every byte of its last part: each remainder
// opens, is valid, and has lost nothing but the line that was cut.
func TestATruncatedLogOpens(t *testing.T) {
	t.Parallel()
	h, lines := storedLines(t, 6)
	whole := strings.Join(lines, "")
	const tail = 8 << 10
	root := t.TempDir()
	step := 1
	if testing.Short() {
		step = 17
	}
	for size := max(len(lines[0]), len(whole)-tail); size <= len(whole); size += step {
		path := writeLog(t, root, h, whole[:size])
		l, _, err := Open(root, path)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		kill(t, l)
		b, _ := os.ReadFile(path)
		kept := whole[:strings.LastIndexByte(whole[:size], '\n')+1]
		if !strings.HasPrefix(string(b), kept) {
			t.Fatalf("%d bytes: a complete line changed", size)
		}
		valid(t, path)
	}
}

func FuzzLoad(f *testing.F) {
	_, lines := storedLines(f, 4)
	whole := strings.Join(lines, "")
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)/2]))
	f.Add([]byte(lines[0] + "\x00\x00\n\n"))
	f.Add([]byte(strings.ReplaceAll(whole, `"dt":[`, `"dt":[1,`)))
	f.Add([]byte(strings.Replace(whole, lines[3], "", 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		root := t.TempDir()
		h, err := DecodeHeader([]byte(strings.SplitN(string(b), "\n", 2)[0]))
		if err != nil || checkID(h.ID) != nil {
			h = Header{ID: "x"}
		}
		path := writeLog(t, root, h, string(b))
		l, opened, err := Open(root, path)
		if err != nil {
			if after, _ := os.ReadFile(path); string(after) != string(b) {
				t.Fatalf("refused (%v) and changed all the same", err)
			}
			return
		}
		if _, err := l.Append(title("x")); err != nil {
			t.Fatalf("opened (%+v) and not appendable: %v", opened, err)
		}
		next := l.NextSeq() + 1 // an end-seed
		kill(t, l)
		l, opened, err = Open(root, path)
		if err != nil || opened.Cut.Bytes != 0 || l.NextSeq() != next {
			t.Fatalf("the second open: %+v, %v", opened, err)
		}
		kill(t, l)
		s, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		for range s.Events() {
		}
		var damaged *DamagedError // in a chunk row that Open does not look into
		if s.Err() != nil && !errors.As(s.Err(), &damaged) {
			t.Fatal(s.Err())
		}
	})
}
