package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func TestBSH14LongOutputHasAHeadATailAndAnArtifact(t *testing.T) {
	t.Parallel()
	tb := newTable(t, Options{})
	r := wait(t, start(t, tb, Command{Command: `seq 40000`}))
	var whole bytes.Buffer
	for i := range 40000 {
		fmt.Fprintln(&whole, i+1)
	}
	all := whole.String()
	omitted := int64(len(all) - headSize - tailSize)
	want := all[:headSize] + fmt.Sprintf("\n[... %d bytes omitted ...]\n", omitted) + all[len(all)-tailSize:]
	if r.Output != want || r.Omitted != omitted || r.Capped || r.Lost != nil {
		t.Errorf("%d bytes, %d omitted of %d, %v", len(r.Output), r.Omitted, len(all), r.Lost)
	}
	saved, err := os.ReadFile(r.Artifact)
	if err != nil || string(saved) != all {
		t.Errorf("%d of %d bytes saved, %v", len(saved), len(all), err)
	}
	for path, mode := range map[string]os.FileMode{r.Artifact: 0o600, filepath.Dir(r.Artifact): os.ModeDir | 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestBSH14ShortOutputHasNoArtifact up to the last byte that fits.
func TestBSH14ShortOutputHasNoArtifact(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, headSize, headSize + 1, headSize + tailSize, headSize + tailSize + 1} {
		dir := filepath.Join(t.TempDir(), "out")
		r := captured(t, dir, DefaultCap, strings.Repeat("a", n))
		if long := n > headSize+tailSize; (r.Artifact != "") != long || (r.Omitted != 0) != long || !long && len(r.Output) != n {
			t.Errorf("%d bytes: %q, %d omitted", n, r.Artifact, r.Omitted)
		}
		if _, err := os.Stat(dir); (err == nil) != (r.Artifact != "") {
			t.Errorf("%d bytes: the directory: %v", n, err)
		}
	}
}

func TestBSH15CutsAreAtRunes(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		all := strings.Repeat("a", shift) + strings.Repeat("é€😀", 20000) + strings.Repeat("b", shift)
		r := captured(t, t.TempDir(), DefaultCap, all)
		head, tail, ok := strings.Cut(r.Output, fmt.Sprintf("\n[... %d bytes omitted ...]\n", r.Omitted))
		if !ok || strings.ContainsRune(r.Output, utf8.RuneError) || !strings.HasPrefix(all, head) || !strings.HasSuffix(all, tail) {
			t.Errorf("shift %d: %q...", shift, r.Output[:20])
		}
		if int(r.Omitted)+len(head)+len(tail) != len(all) {
			t.Errorf("shift %d: %d omitted, %d and %d kept of %d", shift, r.Omitted, len(head), len(tail), len(all))
		}
	}
}

// TestD04OutputIsBounded in memory and on disk, for lines and for one endless line.
func TestD04OutputIsBounded(t *testing.T) {
	const limit = 4 << 20
	for name, command := range map[string]string{
		"lines":    `yes | head -c 200000000`,
		"one line": `head -c 200000000 /dev/zero | tr '\0' a`,
		"binary":   `head -c 50000000 /dev/urandom`,
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t, Options{Artifacts: NewArtifacts(t.TempDir(), limit, 0)})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := wait(t, start(t, tb, Command{Command: command}))
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
				t.Errorf("%d bytes were allocated", grown)
			}
			if r.Exit.Code != 0 || !r.Capped || r.Lost != nil || len(r.Output) > 4*(headSize+tailSize) || r.Omitted < 49000000 {
				t.Errorf("%+v, %d bytes, %d omitted, capped %v, %v", r.Exit, len(r.Output), r.Omitted, r.Capped, r.Lost)
			}
			if info, err := os.Stat(r.Artifact); err != nil || info.Size() != limit {
				t.Errorf("the artifact has %d bytes, %v", info.Size(), err)
			}
		})
	}
}

func TestD04TheTimeoutStrikesInAFlood(t *testing.T) {
	t.Parallel()
	r := wait(t, start(t, newTable(t, Options{Artifacts: NewArtifacts(t.TempDir(), 1<<20, 0)}), Command{Command: `yes`, Timeout: 200 * time.Millisecond}))
	if !r.TimedOut || !strings.HasPrefix(r.Output, "y\ny\n") {
		t.Errorf("%+v", r.Exit)
	}
}

func TestD05OutputIsSafeText(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`printf 'a\000b\001\377\376\303(\n'`:          "a␀b␁\ufffd(\n",
		`printf '\355\240\200'`:                       "\ufffd",
		`printf 'a\tb\r\n\033[31mred\033[0m\177\n'`:   "a\tb␍\n␛[31mred␛[0m␡\n",
		`head -c 5000 /dev/zero; echo; printf '\303'`: "␀(x5000)\n\ufffd",
		`printf 'gr\303\274n \342\202\254\n'`:         "grün €\n",
	} {
		r := run(t, command)
		if r.Output != want {
			t.Errorf("%s: %q, want %q", command, r.Output, want)
		}
	}
	r := run(t, `head -c 65536 /bin/ls`)
	safe(t, r.Output)
	if wire, err := json.Marshal(r.Output); err != nil || bytes.Contains(wire, []byte(`\u000`)) || bytes.Contains(wire, []byte(`\u001`)) {
		t.Errorf("not fit for a request: %v", err)
	}
}

func safe(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Error("not UTF-8")
	}
	for _, r := range s {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f {
			t.Errorf("%q is left", r)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain\n", "a\x00\x00\x00\x00\x00\x00\x00\x00\x00b", "\xff\xfe", "é\r\n", "\xed\xa0\x80"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Text(raw)
		safe(t, got)
		if Text([]byte(got)) != got {
			t.Error("safe text is changed")
		}
	})
}

// TestAFullDiskDoesNotFailTheCommand and is told, with what could be saved.
func TestAFullDiskDoesNotFailTheCommand(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := newCapture(NewArtifacts(t.TempDir(), 0, 0))
	c.file.file, c.file.path, c.file.entry = full, "/dev/full", &kept{open: true}
	c.readFrom(io.NopCloser(strings.NewReader(strings.Repeat("a", 100000))))
	if r := c.result(); !errors.Is(r.Lost, syscall.ENOSPC) || r.Omitted != 100000-headSize-tailSize || r.Artifact == "" {
		t.Errorf("%d omitted, %q, %v", r.Omitted, r.Artifact, r.Lost)
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := wait(t, start(t, newTable(t, Options{Artifacts: NewArtifacts(file, 0, 0)}), Command{Command: `seq 40000; exit 4`}))
	if r.Exit.Code != 4 || r.Lost == nil || !strings.Contains(r.Lost.Error(), file) || r.Artifact != "" || r.Omitted == 0 {
		t.Errorf("%+v, %v, %q", r.Exit, r.Lost, r.Artifact)
	}
}

// TestPeeksJoinToTheOutput whatever the pieces, as long as the reader keeps up.
func TestPeeksJoinToTheOutput(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	all := strings.Repeat("héllo wörld €😀\n", 8000)
	c := newCapture(NewArtifacts(t.TempDir(), 0, 0))
	var got strings.Builder
	var at int64
	for rest := all; rest != ""; {
		n := min(1+rnd.IntN(9000), len(rest))
		c.write([]byte(rest[:n]))
		rest = rest[n:]
		text, next := c.peek(at)
		got.WriteString(text)
		at = next
	}
	if got.String() != all || at != int64(len(all)) {
		t.Errorf("%d of %d bytes", got.Len(), len(all))
	}
	// One who does not keep up is told how much is gone.
	text, next := c.peek(headSize + 1)
	var gone int
	if _, err := fmt.Sscanf(text, "\n[... %d bytes omitted ...]\n", &gone); err != nil || next != int64(len(all)) {
		t.Errorf("%q, %v, next %d", text[:60], err, next)
	}
	_, kept, _ := strings.Cut(text, "...]\n")
	if headSize+1+gone+len(kept) != len(all) || !strings.HasSuffix(all, kept) {
		t.Errorf("%d said to be gone, %d kept", gone, len(kept))
	}
	for _, from := range []int64{-1, int64(len(all)), int64(len(all)) + 5} {
		if text, next := c.peek(from); next != int64(len(all)) || from > 0 && text != "" {
			t.Errorf("from %d: %d bytes, next %d", from, len(text), next)
		}
	}
	c.file.close()
}

// TestTheRingKeepsTheEnd against the obvious way.
func TestTheRingKeepsTheEnd(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	var r ring
	var all []byte
	for range 200 {
		piece := make([]byte, rnd.IntN(2*tailSize/5))
		for i := range piece {
			piece[i] = byte(rnd.Uint32())
		}
		r.write(piece)
		all = append(all, piece...)
		if want := all[max(0, len(all)-tailSize):]; !bytes.Equal(r.bytes(), want) {
			t.Fatalf("after %d bytes", len(all))
		}
	}
}

// captured runs an output through a capture.
func captured(t *testing.T, dir string, limit int64, all string) Result {
	t.Helper()
	c := newCapture(NewArtifacts(dir, limit, 0))
	c.readFrom(io.NopCloser(strings.NewReader(all)))
	return c.result()
}
