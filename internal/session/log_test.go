package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dsh/internal/llm"
)

func TestSE01AppendedEventsAreContiguous(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 5)
	evs := mustAppend(t, l, title("a"), title("b"))
	if evs[0].Seq+1 != evs[1].Seq || l.NextSeq() != evs[1].Seq+1 {
		t.Errorf("seqs %d, %d, next %d", evs[0].Seq, evs[1].Seq, l.NextSeq())
	}
	for i, ev := range valid(t, l.Path()) {
		if ev.Seq != i {
			t.Fatalf("event %d has seq %d", i, ev.Seq)
		}
	}
}

func TestSE11AppendRefusesAMisplacedSurfaceOp(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	mustAppend(t, l, title("a"))
	for name, d := range map[string]Draft{
		"missing":   {Data: UserMessage{said("m", "hi")}},
		"not there": {Data: Title{"x"}, Surface: &SurfaceOp{}},
	} {
		if _, err := l.Append(d); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := len(valid(t, l.Path())); got != 1 {
		t.Errorf("%d events in the log, want 1", got)
	}
}

func TestSE24ARefusedAppendChangesNothing(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	mustAppend(t, l, Draft{Data: TurnStart{1}})
	before, size := l.State(), fileSize(t, l.path)
	// The first two fit; the third does not, so none is appended.
	if _, err := l.Append(Draft{Data: StepStart{1, 1}}, title("x"), Draft{Data: TurnStart{2}}); err == nil {
		t.Fatal("a turn inside a turn was accepted")
	}
	if !reflect.DeepEqual(before, l.State()) || l.NextSeq() != 1 || fileSize(t, l.path) != size {
		t.Error("a refused batch left something behind")
	}
	mustAppend(t, l, Draft{Data: StepStart{1, 1}})
	valid(t, l.path)
}

func TestPS09ARefusalNamesTheType(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	_, err := l.Append(Draft{Data: StepEnd{1, 1}})
	if err == nil || !strings.Contains(err.Error(), "step/end") {
		t.Errorf("got %v", err)
	}
	if _, err := l.Append(title("not \xff UTF-8")); err == nil || !strings.Contains(err.Error(), "session/title") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(l.path); err == nil {
		t.Error("a refused first append made a file")
	}
}

func TestAChunkThatCannotBeWrittenIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	if _, err := l.Append(delta2(turn, "\xff")); err == nil {
		t.Fatal("accepted")
	}
	mustAppend(t, l, answered(turn, stream(t, l, turn, 1)))
	valid(t, l.path)
}

func TestSE17CreateRefusesBadHeaders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, h := range map[string]Header{
		"relative cwd":    {Cwd: "project"},
		"negative time":   {CreatedAt: -1},
		"exotic id":       {ID: "a/b"},
		"unknown origin":  {Origin: "mars"},
		"negative depth":  {DelegationDepth: new(-1)},
		"bytes in the id": {ID: "a\x00b"},
	} {
		if l, err := Create(root, h); err == nil {
			l.Close()
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Create("relative/root", Header{}); err == nil {
		t.Error("F08: a store relative to the working directory was accepted")
	}
}

func TestJL01IDsThatTraverseAreRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, id := range []string{"..", ".", "../x", "a/b", "/etc", "a\x00", "\xed\xa0\x80", strings.Repeat("x", maxID+1), ".hidden"} {
		if _, err := Create(root, Header{ID: id}); err == nil {
			t.Errorf("id %q accepted", id)
		}
	}
	if err := checkID(""); err == nil {
		t.Error("an empty id is accepted")
	}
}

func TestRS01ACallersIDIsUsed(t *testing.T) {
	t.Parallel()
	l, err := Create(t.TempDir(), Header{ID: "mine-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mustAppend(t, l, title("x"))
	if s, err := Read(l.Path()); err != nil || s.Header().ID != "mine-1" || filepath.Base(filepath.Dir(l.Path())) != "mine-1" {
		t.Error("the id is not in header and path", err)
	}
}

func TestRS21IDsAreFreshUUIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		id := NewID()
		if !uuidLike(id) || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) || seen[id] {
			t.Fatalf("%q is no fresh UUID version 4", id)
		}
		seen[id] = true
	}
}

func TestPS05NothingIsOnDiskBeforeTheFirstAppend(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "sessions")
	h := Header{ID: "abc", Cwd: testCwd}
	l, err := Create(root, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Error("an unused session made its directories")
	}
	if list, err := List(root); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
	t.Run("RS18 the id is free again", func(t *testing.T) {
		if l, err = Create(root, h); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, title("x"))
		mustClose(t, l)
		valid(t, l.Path())
	})
}

func TestPS24AFlushBeforeTheFirstAppendChangesNothing(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	for range 2 {
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, l, title("x"))
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	if evs := valid(t, l.Path()); len(evs) != 1 || evs[0].Seq != 0 {
		t.Errorf("got %v", evs)
	}
}

func TestRS02ADuplicateIDIsRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	one, err := Create(root, Header{ID: "same", Cwd: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := Create(root, Header{ID: "same", Cwd: "/a"}) // nothing stored yet
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, one, title("one"))
	var locked *LockedError
	if _, err := two.Append(title("two")); !errors.As(err, &locked) {
		t.Errorf("got %v", err)
	}
	mustClose(t, one)
	var exists *ExistsError
	t.Run("PS17 a new session does not adopt a stored one", func(t *testing.T) {
		if _, err := two.Append(title("two")); !errors.As(err, &exists) {
			t.Errorf("got %v", err)
		}
	})
	two.Close()
	t.Run("SE18 nor one of another project", func(t *testing.T) {
		if _, err := Create(root, Header{ID: "same", Cwd: "/elsewhere"}); !errors.As(err, &exists) {
			t.Errorf("got %v", err)
		}
	})
	if s, _ := Read(one.Path()); s.State().Title != "one" {
		t.Error("the loser wrote over the winner")
	}
}

func TestRS12OfManyCreatorsOneWins(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	logs := make([]*Log, 20)
	for i := range logs { // all before the first of them is stored
		var err error
		if logs[i], err = Create(root, Header{ID: "same"}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	won := make(chan *Log, len(logs))
	for _, l := range logs {
		wg.Go(func() {
			if _, err := l.Append(title("x")); err == nil {
				won <- l
			} else {
				l.Close()
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Fatalf("%d winners", len(won))
	}
	l := <-won
	mustClose(t, l)
	if got := len(valid(t, l.Path())); got != 1 {
		t.Errorf("%d events", got)
	}
}

func TestJL03ModesDoNotDependOnTheUmask(t *testing.T) {
	// Not parallel: the umask belongs to the process.
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	l, err := Create(filepath.Join(t.TempDir(), "deep", "sessions"), Header{Cwd: testCwd})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, title("x"))
	mustClose(t, l)
	for path, want := range map[string]os.FileMode{
		l.Path(): 0o600, filepath.Join(filepath.Dir(l.Path()), lockName): 0o600,
		filepath.Dir(l.Path()): 0o700, filepath.Dir(filepath.Dir(l.Path())): 0o700, l.root: 0o700, filepath.Dir(l.root): 0o700,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode().Perm(), want, err)
		}
	}
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(l.Path()), "*"))
	if len(names) != 2 {
		t.Errorf("left over: %v", names)
	}
}

func TestPS01AStoredLogLoadsAsItWasAppended(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	r := l.Reader(0)
	defer r.Close()
	turn := startTurn(t, l)
	seqs := stream(t, l, turn, 7)
	appended := r.Next()
	mustAppend(t, l, answered(turn, seqs))
	appended = append(appended, r.Next()...)
	mustClose(t, l)
	s, err := Read(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.Header(), l.Header()) {
		t.Errorf("header %+v, want %+v", s.Header(), l.Header())
	}
	if got, want := text(t, slices.Collect(s.Events())), text(t, appended); got != want {
		t.Errorf("loaded\n%s\nwant\n%s", got, want)
	}
}

func TestPS12LineageSurvives(t *testing.T) {
	t.Parallel()
	want := Header{ID: "child", Cwd: testCwd, CreatedAt: 5, ParentSession: "parent", SeedLength: new(3), Origin: "subagent",
		DelegationDepth: new(2), AgentPreset: "explorer"}
	l, err := Create(t.TempDir(), want)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, title("x"))
	mustClose(t, l)
	again, _ := mustOpen(t, l)
	if !reflect.DeepEqual(again.Header(), want) {
		t.Errorf("got %+v", again.Header())
	}
}

func TestPS13DraftsBelongToTheCallerAgain(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	drafts := []Draft{title("mine"), title("too")}
	evs := mustAppend(t, l, drafts...)
	drafts[0], drafts[1] = title("changed"), title("changed")
	evs[0].Data = Title{"changed"} // the returned slice is the caller's too
	r := l.Reader(0)
	defer r.Close()
	for _, list := range [][]Event{r.Next(), valid(t, l.path)} {
		if list[0].Data != (Title{"mine"}) || list[1].Data != (Title{"too"}) {
			t.Errorf("got %v", list)
		}
	}
}

func TestRS15ASecondCloseDoesNothing(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	stream(t, l, turn, 4)
	mustClose(t, l)
	mustClose(t, l)
	t.Run("RS17 after the first nothing is accepted", func(t *testing.T) {
		if _, err := l.Append(title("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("append: %v", err)
		}
		if err := l.Sync(); !errors.Is(err, ErrClosed) {
			t.Errorf("sync: %v", err)
		}
	})
	t.Run("PS32 what waited is written", func(t *testing.T) {
		if evs := valid(t, l.path); evs[len(evs)-1].Type != TypeAssistantChunk {
			t.Errorf("got %v", types(evs))
		}
	})
}

func TestF04ParallelAppendersAndReaders(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for range 3 {
		r := l.Reader(0)
		wg.Go(func() {
			defer r.Close()
			for next := 0; next < writers*each; {
				for _, ev := range r.Next() {
					if ev.Seq != next {
						t.Errorf("a reader got event %d after %d", ev.Seq, next-1)
					}
					next = ev.Seq + 1
				}
				if next < writers*each {
					<-r.Wake()
				}
			}
		})
	}
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := l.Append(queued(fmt.Sprintf("%d.%d", w, i), "x")); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if err := l.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for _, ev := range valid(t, l.path) {
		seen[ev.Data.(InboxSpliced).Inserted[0].ID]++
	}
	if len(seen) != writers*each {
		t.Errorf("%d of %d messages are in the log", len(seen), writers*each)
	}
}

func TestSupersededChunksLeaveMemory(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	for range 3 {
		wholeTurn(t, l, 100)
	}
	if n := slices.IndexFunc(l.events, func(ev Event) bool { return ev.Type == TypeAssistantChunk }); n >= 0 {
		t.Error("a superseded chunk is still held")
	}
	r := l.Reader(0)
	defer r.Close()
	if got, want := text(t, r.Next()), text(t, withoutChunks(slices.Values(valid(t, l.path)))); got != want {
		t.Error("a late reader does not get all but the chunks")
	}
	turn := startTurn(t, l)
	stream(t, l, turn, 3)
	if got := r.Next(); len(withoutChunks(slices.Values(got))) != len(got)-3 {
		t.Errorf("the running answer's chunks are missing: %v", got)
	}
}

func TestAnAnswerSupersedesTheChunksOfFailedRequestsToo(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	stream(t, l, turn, 3)
	mustAppend(t, l, Draft{Data: AssistantChunk{turn, 1, llm.Chunk{Type: llm.FinishChunk,
		Reason: &llm.Finish{Kind: llm.Failed, Failure: &llm.Failure{Message: "cut", Code: llm.CodeStreamClosed}}}}})
	mustAppend(t, l, Draft{Data: RequestSent{Turn: turn, Step: 1, Attempt: 2, Sent: llm.Sent{Repairs: []string{}}}})
	mustAppend(t, l, answered(turn, stream(t, l, turn, 2)))
	for _, ev := range l.events {
		if ev.Type == TypeAssistantChunk {
			t.Fatal("chunks of the failed request are still held")
		}
	}
	valid(t, l.path)
}

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
