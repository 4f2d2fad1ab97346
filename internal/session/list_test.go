package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// put stores a session with the given events' lines.
func put(t testing.TB, root, id, cwd string, lines ...string) (path string) {
	t.Helper()
	h := Header{ID: id, Cwd: cwd, CreatedAt: 1000}
	head, err := h.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return writeLog(t, root, h, string(head)+"\n"+strings.Join(lines, "\n")+"\n")
}

func titleLine(seq, time, text string) string {
	return `{"type":"session/title","seq":` + seq + `,"time":` + time + `,"data":{"title":"` + text + `"}}`
}

func ids(list []Entry) (ids []string) {
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestF05OneBadSessionDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "good", "/p", titleLine("0", "2000", "fine"))
	writeLog(t, root, Header{ID: "garbage", Cwd: "/p"}, "\x00\x01garbage")
	writeLog(t, root, Header{ID: "newer", Cwd: "/p"}, `{"type":"session","version":3}`)
	writeLog(t, root, Header{ID: "empty", Cwd: "/p"}, "")
	for id, ms := range map[string]int64{"garbage": 1700, "newer": 1200} { // damaged ones go by their file's time
		path, at := filepath.Join(root, slug("/p"), id, logName), time.UnixMilli(ms)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	dead := put(t, root, "dead", "/q", titleLine("0", "1500", "locked by nobody"))
	if err := os.WriteFile(filepath.Join(filepath.Dir(dead), lockName), []byte("2147483646\n"), fileMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "stray"), []byte("x"), fileMode); err != nil {
		t.Fatal(err)
	}
	list, err := List(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(list); !slices.Equal(got, []string{"good", "garbage", "dead", "newer"}) {
		t.Fatalf("listed %v", got)
	}
	var newer *NewerError
	if list[0].Damaged != nil || list[2].Damaged != nil || list[1].Damaged == nil || !errors.As(list[3].Damaged, &newer) {
		t.Errorf("got %+v", list)
	}
	if list[2].LockedBy != 0 {
		t.Error("a dead process holds a session")
	}
	l, _, err := Open(root, dead)
	if err != nil {
		t.Fatal("the lock file of a dead process keeps the session closed:", err)
	}
	l.Close()
}

func TestJL18AListTellsWhatPeopleLookFor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l, err := Create(root, Header{Cwd: testCwd})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wholeTurn(t, l, 30)
	one := func() Entry {
		t.Helper()
		list, err := List(root)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	e := one()
	if e.Title != "question 1" || e.ID != l.Header().ID || e.Cwd != testCwd || e.Path != l.path || e.LockedBy != os.Getpid() {
		t.Errorf("got %+v", e)
	}
	mustAppend(t, l, title("old"), title("new"))
	for range 300 {
		mustAppend(t, l, Draft{Data: WorkspaceChanged{Path: strings.Repeat("x", 300)}})
	}
	if e := one(); e.Title != "new" || e.LastUse != l.State().LastTime {
		t.Errorf("got %+v", e)
	}
	t.Run("PS08 appending moves the last use, reading does not", func(t *testing.T) {
		before := one().LastUse
		for l.State().LastTime == before {
			mustAppend(t, l, title("later"))
		}
		if after := one(); after.LastUse <= before || one() != after {
			t.Errorf("last use %d, then %d", before, after.LastUse)
		}
	})
	mustClose(t, l)
	if e := one(); e.LockedBy != 0 {
		t.Error("a closed session is locked")
	}
	t.Run("a header longer than a read", func(t *testing.T) {
		h := Header{ID: "long", Cwd: "/" + strings.Repeat("d", 2*readSize)}
		put(t, root, h.ID, h.Cwd)
		if e, err := Find(root, "long"); err != nil || e.Damaged != nil || e.Cwd != h.Cwd {
			t.Error(e.Damaged, err)
		}
	})
}

func TestJL17AMissingStoreIsEmptyAnotherFileIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if list, err := List(filepath.Join(dir, "none")); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := List(file); err == nil {
		t.Error("a file passes for a store")
	}
	if _, err := List("relative"); err == nil {
		t.Error("a relative store is accepted")
	}
}

func TestFindByPathIDOrPrefix(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := put(t, root, "abcd1234", "/p")
	put(t, root, "abcd5678", "/q", titleLine("0", "5000", "x"))
	put(t, root, "abcd", "/q")
	for what, want := range map[string]string{
		"abcd1234": "abcd1234", "abcd1": "abcd1234", "abcd5": "abcd5678",
		"abcd": "abcd", // a whole id, though also a prefix
		path:   "abcd1234", filepath.Dir(path): "abcd1234",
	} {
		if e, err := Find(root, what); err != nil || e.ID != want {
			t.Errorf("%s: got %s, %v", what, e.ID, err)
		}
	}
	var many *AmbiguousError
	if _, err := Find(root, "abc"); !errors.As(err, &many) || !slices.Equal(many.IDs, []string{"abcd5678", "abcd", "abcd1234"}) {
		t.Errorf("got %v", err)
	}
	for _, what := range []string{"zzz", "", "/nowhere/session.jsonl", "x.jsonl"} {
		var none *NotFoundError
		if _, err := Find(root, what); !errors.As(err, &none) || !strings.Contains(err.Error(), "dsh sessions list") {
			t.Errorf("%q: got %v", what, err)
		}
	}
}

func TestF11TheLatestIsByEventTimeNotByFileTime(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	old := put(t, root, "old", "/p", titleLine("0", "2000", "x"))
	put(t, root, "new", "/p", titleLine("0", "3000", "x"))
	put(t, root, "elsewhere", "/q", titleLine("0", "9000", "x"))
	put(t, root, "same-slug", "/p/", titleLine("0", "9000", "x"))
	head := `{"type":"session","version":0,"id":"child","createdAt":9000,"cwd":"/p","origin":"subagent"}`
	writeLog(t, root, Header{ID: "child", Cwd: "/p"}, head+"\n")
	if err := os.Chtimes(old, time.Now().Add(time.Hour), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if e, err := Latest(root, "/p"); err != nil || e.ID != "new" {
		t.Errorf("got %s, %v", e.ID, err)
	}
	var none *NotFoundError
	if _, err := Latest(root, "/nothing/here"); !errors.As(err, &none) {
		t.Errorf("got %v", err)
	}
}

func TestLatestDoesNotPassOverASessionThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "good", "/p", titleLine("0", "2000", "x"))
	at := func(path string, ms int64) {
		if err := os.Chtimes(path, time.UnixMilli(ms), time.UnixMilli(ms)); err != nil {
			t.Fatal(err)
		}
	}
	bad := writeLog(t, root, Header{ID: "bad", Cwd: "/p"}, "garbage")
	at(bad, 1000)
	if e, err := Latest(root, "/p"); err != nil || e.ID != "good" {
		t.Errorf("an older damaged one: got %s, %v", e.ID, err)
	}
	at(bad, 3000)
	var unusable *UnusableError
	var damaged *DamagedError
	if _, err := Latest(root, "/p"); !errors.As(err, &unusable) || unusable.ID != "bad" || !errors.As(err, &damaged) {
		t.Errorf("a damaged one: got %v", err)
	}
	at(writeLog(t, root, Header{ID: "newer", Cwd: "/p"}, `{"type":"session","version":3}`), 4000)
	var newer *NewerError
	if _, err := Latest(root, "/p"); !errors.As(err, &newer) || !strings.Contains(err.Error(), "the last session here, newer,") {
		t.Errorf("a newer one: got %v", err)
	}
}

func TestAPidThatAnotherProcessGotHoldsNoSession(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := put(t, root, "old", "/p", titleLine("0", "2000", "x"))
	lock := filepath.Join(filepath.Dir(path), lockName)
	if err := os.WriteFile(lock, []byte(strconv.Itoa(os.Getpid())), fileMode); err != nil {
		t.Fatal(err)
	}
	if e, err := Find(root, "old"); err != nil || e.LockedBy != 0 {
		t.Errorf("held by %d, %v", e.LockedBy, err)
	}
	l, _, err := Open(root, path)
	if err != nil {
		t.Fatal("the look kept the lock:", err)
	}
	defer l.Close()
	if e, err := Find(root, "old"); err != nil || e.LockedBy != os.Getpid() {
		t.Errorf("held by %d, %v", e.LockedBy, err)
	}
}

func TestF10AMovedProjectsSessionIsFound(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	l, err := Create(t.TempDir(), Header{Cwd: gone})
	if err != nil {
		t.Fatal(err)
	}
	wholeTurn(t, l, 0)
	mustClose(t, l)
	e, err := Find(l.root, l.Header().ID[:shortID])
	if err != nil || e.Cwd != gone {
		t.Fatal(e, err)
	}
	again, _, err := Open(l.root, e.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Header().Cwd != gone {
		t.Error("the recorded directory is lost")
	}
}

func TestSlugsAreReadableAndBounded(t *testing.T) {
	t.Parallel()
	for cwd, want := range map[string]string{
		"/home/u/my proj": "home-u-my-proj", "/": "root", "": "no-project", "/a/../b": "b", "/.config/x": "config-x",
		"/日本/語": "日本-語", "/\xff/a": "a", "/..": "root", "/a\n\x1b[31mb": "a-31mb",
	} {
		if got := slug(cwd); got != want {
			t.Errorf("slug(%q) = %q, want %q", cwd, got, want)
		}
	}
	if got := slug("/" + strings.Repeat("日", 100)); len(got) > maxSlug || strings.ContainsRune(got, '\ufffd') {
		t.Errorf("got %q", got)
	}
}

func TestPS07AReaderFromNGetsTheExactSuffix(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	all := valid(t, l.path)
	size := fileSize(t, l.path)
	for _, from := range []int{0, 4, len(all), len(all) + 5} {
		r := l.Reader(from)
		if got, want := text(t, r.Next()), text(t, all[min(from, len(all)):]); got != want {
			t.Errorf("from %d: got %s", from, got)
		}
		r.Close()
	}
	if fileSize(t, l.path) != size {
		t.Error("reading wrote")
	}
}

func TestAReaderIsWokenUntilItCloses(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	r := l.Reader(0)
	mustAppend(t, l, title("a"))
	mustAppend(t, l, title("b")) // nobody waits for the first wake to be taken
	<-r.Wake()
	if got := len(r.Next()); got != 2 {
		t.Errorf("%d events", got)
	}
	mustClose(t, l)
	<-r.Wake() // the end wakes too
	r.Close()
	if len(l.readers) != 0 {
		t.Error("a closed reader is still held")
	}
}

func TestFollowSeesWhatAnotherProcessAppends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		wholeTurn(t, l, 5)
		n := l.NextSeq()
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan Event, 100)
		done := make(chan error, 1)
		go func() {
			for ev, err := range Follow(ctx, l.path, 2) {
				if err != nil {
					done <- err
					return
				}
				got <- ev
			}
			done <- nil
		}()
		synctest.Wait()
		if len(got) != n-2 {
			t.Errorf("%d events at first, want %d", len(got), n-2)
		}
		mustAppend(t, l, title("a"), title("b"))
		time.Sleep(followEvery)
		synctest.Wait()
		if len(got) != n {
			t.Errorf("%d events, want %d", len(got), n)
		}
		for want := 2; len(got) > 0; want++ {
			if ev := <-got; ev.Seq != want {
				t.Errorf("event %d, want %d", ev.Seq, want)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestFollowForgivesABatchTakenBackAndNamesDamage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		path := put(t, root, "x", "/p", titleLine("0", "1", "zero"), titleLine("1", "1", "one"))
		two, three := titleLine("2", "1", "two"), titleLine("3", "1", "three")
		edit := func(f func(s string) string) {
			b, _ := os.ReadFile(path)
			if err := os.WriteFile(path, []byte(f(string(b))), fileMode); err != nil {
				t.Error(err)
			}
			time.Sleep(followEvery)
		}
		var seqs []int
		var last error
		go func() {
			edit(func(s string) string { return s + two + "\n" + three[:20] })       // half of three is there
			edit(func(s string) string { return strings.TrimSuffix(s, three[:20]) }) // and taken back
			edit(func(s string) string { return s + three + "\n" })
			edit(func(s string) string { return s + "damage\n" })
		}()
		for ev, err := range Follow(t.Context(), path, 0) {
			if last = err; err == nil {
				seqs = append(seqs, ev.Seq)
			}
		}
		var damaged *DamagedError
		if !slices.Equal(seqs, []int{0, 1, 2, 3}) || !errors.As(last, &damaged) || damaged.Line != 6 {
			t.Errorf("got %v, then %v", seqs, last)
		}
	})
}
