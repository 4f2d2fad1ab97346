package session

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func types(evs []Event) (list []Type) {
	for _, ev := range evs {
		list = append(list, ev.Type)
	}
	return list
}

func TestPS03AnOpenTurnIsClosedOnce(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 3)
	turn := startTurn(t, l)
	stream(t, l, turn, 4)
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	n := l.NextSeq()
	kill(t, l)

	again, opened := mustOpen(t, l)
	want := []Type{TypeAssistantMessage, TypeStepEnd, TypeTurnEnd}
	if got := types(opened.Closed); !slices.Equal(got, want) {
		t.Errorf("closed by %v, want %v", got, want)
	}
	end := opened.Closed[len(opened.Closed)-1].Data.(TurnEnd)
	if end.Turn != turn || end.Reason.Kind != Interrupted {
		t.Errorf("the turn ended as %+v", end)
	}
	if last := l.events[len(l.events)-1].Time; opened.Closed[0].Time != last || opened.Closed[2].Time != last {
		t.Error("the time until the resume counts as the turn's")
	}
	mustClose(t, again)
	size := fileSize(t, l.path)
	_, opened = mustOpen(t, l)
	if len(opened.Closed) != 0 || fileSize(t, l.path) != size {
		t.Errorf("a second open added %v", types(opened.Closed))
	}
	if evs := valid(t, l.path); len(evs) != n+len(want)+1 {
		t.Errorf("%d events, want %d", len(evs), n+len(want)+1)
	}
}

func TestPS25ATornTailAndAnOpenTurnAreRepairedTogether(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	startTurn(t, l)
	kill(t, l)
	before := linesOf(t, l.path)
	torn := `{"type":"assistant/mess`
	if err := os.WriteFile(l.path, []byte(strings.Join(before, "")+torn), fileMode); err != nil {
		t.Fatal(err)
	}
	_, opened := mustOpen(t, l)
	if opened.Cut.Bytes != int64(len(torn)) || !slices.Equal(types(opened.Closed), []Type{TypeStepEnd, TypeTurnEnd}) {
		t.Errorf("got %+v", opened)
	}
	t.Run("JL22 committed bytes are not rewritten", func(t *testing.T) {
		if got := linesOf(t, l.path); !slices.Equal(got[:len(before)], before) {
			t.Errorf("got %v", got)
		}
	})
	valid(t, l.path)
}

func TestPS26ReadRepairsInMemoryOnly(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	stream(t, l, turn, 3)
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(l.path)
	s, err := Read(l.path) // the session is open: readers need no lock
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(l.path); string(after) != string(before) {
		t.Error("reading changed the file")
	}
	if s.State().TurnOpen || !slices.Equal(types(s.Closers()), []Type{TypeAssistantMessage, TypeStepEnd, TypeTurnEnd}) || s.Torn {
		t.Errorf("closers %v, state %+v", types(s.Closers()), s.State())
	}
	if got := len(slices.Collect(s.Events())); got != l.NextSeq() {
		t.Errorf("%d stored events, want %d: closers are no part of them", got, l.NextSeq())
	}
	kill(t, l)
	_, opened := mustOpen(t, l)
	if got, want := text(t, opened.Closed), text(t, s.Closers()); got != want {
		t.Errorf("open wrote\n%s\nread foresaw\n%s", got, want)
	}
	if again, err := Read(l.path); err != nil || len(again.Closers()) != 0 || len(slices.Collect(again.Events())) == len(slices.Collect(s.Events())) {
		t.Error("a later Read does not see the repair", err)
	}
}

func TestPS29AnotherWritersEventsAreSeenOnOpen(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	mustClose(t, l)
	two, _ := mustOpen(t, l)
	mustAppend(t, two, title("by two"))
	mustClose(t, two)
	three, _ := mustOpen(t, l)
	if three.State().Title != "by two" || three.NextSeq() != two.NextSeq()+1 { // its end-seed
		t.Errorf("title %q, next %d after %d", three.State().Title, three.NextSeq(), two.NextSeq())
	}
}

func TestRS20HistoryContinues(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 3)
	before, _ := l.Messages()
	mustClose(t, l)

	again, opened := mustOpen(t, l)
	t.Run("PS15 the loaded part is not written again", func(t *testing.T) {
		evs := valid(t, l.path)
		if got := evs[len(evs)-1]; got.Type != TypeEndSeed || len(evs) != l.NextSeq()+1 || len(opened.Closed) != 0 {
			t.Errorf("after %d events: %v, closed %v", l.NextSeq(), types(evs[l.NextSeq():]), types(opened.Closed))
		}
	})
	after, _ := again.Messages()
	if len(after) != len(before) || after[1].PlainText() != before[1].PlainText() {
		t.Errorf("messages %v, want %v", after, before)
	}
	if h, ok := again.RequestHeader(); !ok || h.System != "be good" {
		t.Error("the request header in force is lost")
	}
	if again.LastTurn() != 1 {
		t.Errorf("last turn %d", again.LastTurn())
	}
	wholeTurn(t, again, 3)
	for i, ev := range valid(t, l.path) {
		if ev.Seq != i {
			t.Fatalf("seq %d at %d", ev.Seq, i)
		}
	}
}

func TestSE05AResumedLogHasAnEndSeed(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	mustAppend(t, l, title("x"))
	isEnd := func(ev Event) bool { return ev.Type == TypeEndSeed }
	if slices.ContainsFunc(l.events, isEnd) {
		t.Error("a fresh session has one")
	}
	mustClose(t, l)
	// Even an empty seed gets one.
	if err := os.WriteFile(l.path, []byte(linesOf(t, l.path)[0]), fileMode); err != nil {
		t.Fatal(err)
	}
	again, _ := mustOpen(t, l)
	if got := valid(t, l.path); !slices.Equal(types(got), []Type{TypeEndSeed}) {
		t.Errorf("got %v", types(got))
	}
	mustClose(t, again)
	t.Run("SE06 a log that ends with one gets no second", func(t *testing.T) {
		mustOpen(t, l)
		if got := valid(t, l.path); len(got) != 1 {
			t.Errorf("got %v", types(got))
		}
	})
}

func TestRS03ALiveSessionIsNotOpenedAgain(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	startTurn(t, l)
	before, _ := os.ReadFile(l.path)
	_, _, err := Open(l.root, l.path)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Path != l.path {
		t.Errorf("got %v", err)
	}
	t.Run("PS11 and not repaired", func(t *testing.T) {
		if after, _ := os.ReadFile(l.path); string(after) != string(before) {
			t.Error("the file changed")
		}
	})
	if !strings.Contains(err.Error(), "process") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the message: %v", err)
	}
	mustClose(t, l)
	mustOpen(t, l)
}

func TestRS30QueuedMessagesAreHeldOverAResume(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	mustAppend(t, l, queued("later", "do this later"))
	mustClose(t, l)
	again, opened := mustOpen(t, l)
	if len(opened.Closed) != 0 || len(opened.Held) != 1 || opened.Held[0].ID != "later" || !opened.Held[0].Held || len(opened.Requeued) != 0 {
		t.Errorf("got %+v", opened)
	}
	inbox := again.Inbox()
	if inbox.Len() != 1 || inbox.Ready(NextTurn) {
		t.Error("the message would be sent without being asked for")
	}
	mustClose(t, again)
	size := fileSize(t, l.path)
	if _, opened = mustOpen(t, l); len(opened.Held) != 1 || fileSize(t, l.path) != size {
		t.Errorf("holding again: %+v", opened)
	}
}

func TestAClaimedMessageThatWasNeverSentWaitsAgain(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	mustAppend(t, l, queued("m", "hello"))
	mustAppend(t, l, Draft{Data: TurnStart{1}}, Draft{Data: InboxSpliced{Target: NextTurn, RemovedCount: 1}})
	kill(t, l)
	_, opened := mustOpen(t, l)
	if len(opened.Requeued) != 1 || opened.Requeued[0].ID != "m" || len(opened.Held) != 1 {
		t.Errorf("got %+v", opened)
	}
	valid(t, l.path)
}

func TestRS23ADamagedLogIsNotReplaced(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	mustClose(t, l)
	lines := linesOf(t, l.path)
	lines[3] = "{}\n"
	content := strings.Join(lines, "")
	if err := os.WriteFile(l.path, []byte(content), fileMode); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if _, _, err := Open(l.root, l.path); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "dsh log") {
		t.Errorf("got %v", err)
	}
	var exists *ExistsError
	if _, err := Create(l.root, l.Header()); !errors.As(err, &exists) {
		t.Errorf("create: %v", err)
	}
	if after, _ := os.ReadFile(l.path); string(after) != content {
		t.Error("the file changed")
	}
}

func TestPS20AMissingSessionIsNotFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "p", "id", logName)
	var missing *NotFoundError
	if _, _, err := Open(root, path); !errors.As(err, &missing) {
		t.Errorf("open: %v", err)
	}
	if _, err := Read(path); !errors.As(err, &missing) {
		t.Errorf("read: %v", err)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 0 {
		t.Error("looking made something")
	}
}

// foreign writes a log of another store, or a compressed one.
func foreign(t *testing.T, compress bool) (path string, content []byte) {
	t.Helper()
	l := newLog(t)
	wholeTurn(t, l, 5)
	mustAppend(t, l, queued("later", "x"))
	kill(t, l)
	content, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "session.jsonl")
	if !compress {
		return path, content
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	header, rest, _ := strings.Cut(string(content), "\n")
	frames := enc.EncodeAll([]byte(header+"\n"), nil) // JL19: one frame for the header, one a batch
	return path + ".zst", append(frames, enc.EncodeAll([]byte(rest), nil)...)
}

func TestAForeignLogIsCopiedFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		compress bool
		tail     string
	}{
		"plain": {}, "torn": {tail: `{"type":"ses`}, "compressed": {compress: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, content := foreign(t, c.compress)
			content = append(content, c.tail...)
			if err := os.WriteFile(path, content, 0o444); err != nil {
				t.Fatal(err)
			}
			s, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			l, opened, err := Open(root, path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			h := l.Header()
			if opened.CopiedFrom != path || h.ParentSession != s.Header().ID || h.ID == s.Header().ID || opened.Cut.Bytes != int64(len(c.tail)) {
				t.Errorf("opened %+v with header %+v", opened, h)
			}
			if len(opened.Held) != 1 {
				t.Error("what waited in the original does not wait in the copy")
			}
			if after, _ := os.ReadFile(path); string(after) != string(content) {
				t.Error("the original changed")
			}
			copied, err := Read(l.Path())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := text(t, slices.Collect(copied.Events())), text(t, slices.Collect(s.Events())); !strings.HasPrefix(got, want) {
				t.Error("the events differ")
			}
			if in, ok := inStore(root, l.Path()); !ok || in != l.Path() || idOf(in) != h.ID {
				t.Errorf("the copy lies at %s", l.Path())
			}
			valid(t, l.Path())
		})
	}
}

func TestJL21CompressedLogsThatAreDamaged(t *testing.T) {
	t.Parallel()
	path, content := foreign(t, true)
	for name, c := range map[string]struct {
		content []byte
		ok      bool
	}{
		"half a last frame":     {content[:len(content)-10], true},
		"a corrupt first frame": {append([]byte("nonsense"), content...), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, c.content, fileMode); err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			l, _, err := Open(root, path)
			if c.ok {
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				valid(t, l.Path())
				return
			}
			var damaged *DamagedError
			if !errors.As(err, &damaged) {
				t.Errorf("got %v", err)
			}
			if entries, _ := os.ReadDir(root); len(entries) != 0 {
				t.Error("a refused log left something in the store")
			}
		})
	}
}

func TestTheFormatsOwnLogsOpen(t *testing.T) {
	t.Parallel()
	// As recorders store them: without seq and time, in another writer's key order.
	lines := []string{
		`{"type":"session","version":0,"id":"rec","createdAt":1783352264076,"cwd":"/w","delegationDepth":0}`,
		`{"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"inserted":[{"content":[{"type":"text","text":"hi"}],"source":{"kind":"user"},"role":"user","id":"m1"}]}}`,
		`{"type":"turn/start","data":{"turn":1}}`,
		`{"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"removedCount":1,"inserted":[]}}`,
		`{"type":"step/start","data":{"turn":1,"step":1}}`,
		`{"type":"user/message","data":{"content":[{"type":"text","text":"hi"}],"source":{"kind":"user"},"role":"user","id":"m1"},"surfaceOp":"append"}`,
		`{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"block-start","index":0,"blockType":"text"}}}`,
		`{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[1,0,32],"texts":["a","b","c","d"]}}`,
		`{"type":"assistant/message","data":{"turn":1,"step":1,"message":{"role":"assistant","content":[{"type":"text","text":"abcd"}],"source":{"kind":"model"},"id":"a1"}},"surfaceOp":"append","sourceEventSeqs":[5,6,7,8,9]}`,
		`{"type":"step/end","data":{"turn":1,"step":1}}`,
		`{"type":"turn/end","data":{"turn":1,"reason":{"kind":"completed"}}}`,
	}
	path := filepath.Join(t.TempDir(), "rec.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), fileMode); err != nil {
		t.Fatal(err)
	}
	l, _, err := Open(t.TempDir(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if messages, _ := l.Messages(); len(messages) != 2 || l.Header().Cwd != "/w" {
		t.Errorf("messages %v", messages)
	}
	wholeTurn(t, l, 2)
	evs := valid(t, l.Path())
	if evs[9].Data.(AssistantChunk).Chunk.Text != "d" || evs[12].Type != TypeTurnEnd {
		t.Errorf("numbered wrongly: %v", types(evs))
	}
}

func TestSnapshotLinesAreTheStoredOnes(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 5)
	mustClose(t, l)
	stored := linesOf(t, l.path)
	s, err := Read(l.path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range s.Records() {
		if !json.Valid(line) {
			t.Fatalf("no JSON: %s", line)
		}
		got = append(got, string(line)+"\n")
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	if len(got) != l.NextSeq()+1 || got[0] != stored[0] || got[len(got)-1] != stored[len(stored)-1] {
		t.Errorf("%d lines of %d events", len(got), l.NextSeq())
	}
	if evs := eventsOf(t, got); text(t, evs) != text(t, valid(t, l.path)) {
		t.Error("the lines are another log")
	}
}

func TestALinkToAStoredLogIsThatLog(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	mustAppend(t, l, title("x"))
	link := filepath.Join(t.TempDir(), logName)
	if err := os.Symlink(l.path, link); err != nil {
		t.Fatal(err)
	}
	var locked *LockedError // the lock of the session, not one beside the link
	if _, _, err := Open(l.root, link); !errors.As(err, &locked) {
		t.Errorf("got %v", err)
	}
	if e, err := Find(l.root, link); err != nil || e.Path != l.path {
		t.Errorf("found %s, %v", e.Path, err)
	}
}

func TestJL16ReadStopsAtWhatWasThere(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	s, err := Read(l.path)
	if err != nil {
		t.Fatal(err)
	}
	n := l.NextSeq()
	mustAppend(t, l, title("later"))
	if got := len(slices.Collect(s.Events())); got != n {
		t.Errorf("%d events, want the %d that were there", got, n)
	}
	if err := os.Truncate(l.path, s.size-3); err != nil {
		t.Fatal(err)
	}
	for range s.Events() {
	}
	if s.Err() == nil {
		t.Error("a file that became shorter goes unnoticed")
	}
}
