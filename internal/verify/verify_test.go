package verify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/loop"
	"dsh/internal/sandbox"
	"dsh/internal/session"
)

// bench is a workspace with a check over real processes.
type bench struct {
	t       *testing.T
	dir     string
	o       Options
	work    session.Work
	seen    map[string]session.FileVersion
	records []session.VerifyRun
	steered chan struct{}
}

func newBench(t *testing.T, command string) *bench {
	t.Helper()
	launcher := &sandbox.Launcher{}
	b := &bench{t: t, dir: realPath(t.TempDir()), steered: make(chan struct{})}
	out := t.TempDir()
	table := jobs.New(jobs.Options{Starter: launcher, Artifacts: jobs.NewArtifacts(out, 0, 0)})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := table.Close(ctx); err != nil {
			t.Error(err)
		}
		launcher.Close()
	})
	b.work = session.Work{Open: true, Since: time.Now().Add(-time.Hour).UnixMilli()}
	b.o = Options{Command: command, Attempts: 3, Timeout: time.Minute, Jobs: table, Dir: b.dir, Root: b.dir, Env: jobs.Environ(os.Environ()),
		State: func() session.State { return session.State{Seen: b.seen, ThisTurn: session.TurnUse{Work: b.work}} }}
	return b
}

func (b *bench) write(name, text string) string {
	b.t.Helper()
	p := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// stop asks the check whether the turn may end.
func (b *bench) stop(ctx context.Context) (loop.Ending, error) {
	b.records = nil
	return New(b.o).TurnStopping(ctx, loop.Stopping{Turn: 1, Reason: session.EndReason{Kind: session.Completed}, Steered: b.steered,
		Record: func(run session.VerifyRun) error { b.records = append(b.records, run); return nil }})
}

// verdict is a whole run, which is recorded before and after.
func (b *bench) verdict() (session.VerifyRun, loop.Ending) {
	b.t.Helper()
	ending, err := b.stop(b.t.Context())
	if err != nil || len(b.records) != 2 || b.records[0].Verdict != session.VerifyRunning {
		b.t.Fatalf("%v, %+v", err, b.records)
	}
	return b.records[1], ending
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		timeout time.Duration
		verdict session.VerifyVerdict
		exit    int
		problem string
	}{
		{"true", time.Minute, session.VerifyPassed, 0, ""},
		{"echo boom; exit 3", time.Minute, session.VerifyFailed, 3, ""},
		{"no-such-program-anywhere", time.Minute, session.VerifyFailed, 127, ""},
		{"kill -TERM $$", time.Minute, session.VerifyKilled, -1, "was ended by a signal: terminated"},
		{"sleep 100", 50 * time.Millisecond, session.VerifyTimedOut, -1, "did not end within 50ms and was stopped"},
		{"trap 'exit 0' TERM; while :; do :; done", 200 * time.Millisecond, session.VerifyTimedOut, -1, "did not end within 200ms and was stopped"},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.command)
			b.o.Timeout = c.timeout
			run, ending := b.verdict()
			if run.Verdict != c.verdict || run.ExitCode != c.exit || run.Problem != c.problem {
				t.Errorf("%+v", run)
			}
			if run.Verdict.Fails() != (len(ending.Continue) == 1) || ending.Reason != nil {
				t.Errorf("%+v", ending)
			}
		})
	}
}

func TestACheckThatCannotStartFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, "true")
	b.o.Dir = filepath.Join(b.dir, "gone")
	run, ending := b.verdict()
	if run.Verdict != session.VerifyNotStarted || !strings.Contains(run.Problem, "could not be started") || !strings.Contains(run.Problem, "gone") || len(ending.Continue) != 1 {
		t.Errorf("%+v", run)
	}
}

func TestNothingToCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t, "touch ran")
	b.work.Open = false
	if ending, err := b.stop(t.Context()); err != nil || len(b.records) > 0 || ending.Reason != nil || ending.Continue != nil {
		t.Errorf("a turn without changes: %v, %+v", err, b.records)
	}
	b.work.Open = true
	_, err := New(b.o).TurnStopping(t.Context(), loop.Stopping{Turn: 1, Reason: session.EndReason{Kind: session.MaxTokens},
		Record: func(session.VerifyRun) error { t.Error("a turn that hit the output limit is checked"); return nil }})
	if _, missing := os.Stat(filepath.Join(b.dir, "ran")); err != nil || missing == nil {
		t.Error("the command ran", err)
	}
}

func TestAFailureIsGivenBackSoOftenAndNotMore(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo broken: line 7; exit 1")
	for failed := range 3 {
		b.work.Failed, b.work.Checks = failed, failed
		run, ending := b.verdict()
		if run.Attempt != failed+1 || run.Left != 3-failed || ending.Reason != nil || len(ending.Continue) != 1 {
			t.Fatalf("failure %d: %+v, %+v", failed+1, run, ending)
		}
		text := ending.Continue[0].PlainText()
		for _, want := range []string{"`echo broken: line 7; exit 1`, failed with exit code 1", attempts(3-failed) + " left", "It printed:\nbroken: line 7"} {
			if !strings.Contains(text, want) {
				t.Errorf("the model does not read %q in %q", want, text)
			}
		}
	}
	b.work.Failed, b.work.Checks = 3, 3
	run, ending := b.verdict()
	if ending.Continue != nil || ending.Reason == nil || ending.Reason.Kind != session.Failed || ending.Reason.Failure.Code != session.CodeUnverified || run.Left != 0 {
		t.Fatalf("%+v", ending)
	}
	if want := "failed with exit code 1, after 3 attempts to repair it"; !strings.Contains(ending.Reason.Failure.Message, want) {
		t.Errorf("the end says %q", ending.Reason.Failure.Message)
	}
}

func TestAnOutputIsCutAndHasNoKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo FIRST sk-secret; seq 20000; echo sk-secret LAST; exit 1")
	b.o.Redact = func(text string) (string, bool) { return strings.ReplaceAll(text, "sk-secret", "[key]"), false }
	run, ending := b.verdict()
	text := ending.Continue[0].PlainText()
	for _, out := range []string{run.Output, text} {
		if len(out) > keptHead+keptTail+1000 || !strings.Contains(out, "FIRST [key]") || !strings.Contains(out, "[key] LAST") || !strings.Contains(out, "bytes omitted") {
			t.Errorf("%d bytes: %.200q", len(out), out)
		}
	}
	if got := fmt.Sprintf("%+v %+v %s", b.records, ending, text); strings.Contains(got, "sk-secret") {
		t.Error("a key is left")
	}
	if whole, err := os.ReadFile(run.Artifact); err != nil || !strings.Contains(string(whole), "\n10000\n") || !strings.Contains(text, run.Artifact) {
		t.Errorf("the whole output: %v", err)
	}
}

func TestTheTurnsEndStopsTheCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo started > \"$FIFO\"; sleep 100")
	ctx, cancel := context.WithCancel(t.Context())
	wait := b.fifo()
	go func() { wait(); cancel() }()
	ending, err := b.stop(ctx)
	if err == nil || len(b.records) != 2 || b.records[1].Verdict != session.VerifyCancelled || ending.Continue != nil || ending.Reason != nil {
		t.Errorf("%v, %+v, %+v", err, b.records, ending)
	}
}

func TestASteerStopsTheCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo started > \"$FIFO\"; sleep 100")
	wait := b.fifo()
	go func() { wait(); close(b.steered) }()
	ending, err := b.stop(t.Context())
	if err != nil || len(b.records) != 2 || b.records[1].Verdict != session.VerifySuperseded || ending.Continue != nil || ending.Reason != nil {
		t.Errorf("%v, %+v, %+v", err, b.records, ending)
	}
}

// fifo is what the command says that it has started through.
func (b *bench) fifo() (wait func()) {
	b.t.Helper()
	p := filepath.Join(b.dir, "fifo")
	if err := syscall.Mkfifo(p, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.o.Env = append(b.o.Env, "FIFO="+p)
	return func() { _, _ = os.ReadFile(p) }
}

func TestTheVerdictNamesWhatDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t, "sh check.sh && true")
	code, test, script := b.write("a.go", "x"), b.write("pkg/a_test.go", "x"), b.write("check.sh", "exit 0\n")
	b.work.Changed = []string{code, test, script, "/elsewhere/b_test.go"}
	run, _ := b.verdict()
	if got, want := fmt.Sprint(run.Changed, run.TouchedTests, run.TouchedScripts), "[a.go pkg/a_test.go check.sh /elsewhere/b_test.go] [pkg/a_test.go] [check.sh]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, want := range []string{"tests were changed: pkg/a_test.go", "files of the check itself were changed: check.sh"} {
		if !strings.Contains(run.Summary(), want) {
			t.Errorf("%q does not say %q", run.Summary(), want)
		}
	}
}

func TestWhatCommandsWroteIsSeenByItsTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, "true")
	b.write("old_test.py", "x")
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(b.dir, "old_test.py"), old, old); err != nil {
		t.Fatal(err)
	}
	b.write("code.py", "x")
	b.write("tests/new.py", "x")
	b.write("node_modules/x/a.test.js", "x")
	b.write(".cache/test_a.py", "x")
	if run, _ := b.verdict(); len(run.Changed) > 0 {
		t.Errorf("without commands only tools change files: %+v", run)
	}
	b.work.Commands = true
	if run, _ := b.verdict(); fmt.Sprint(run.TouchedTests) != "[tests/new.py]" || !run.Commands {
		t.Errorf("%+v", run)
	}
}

func TestATestThatACommandRemovedIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, "true")
	b.work.Commands = true
	b.seen = map[string]session.FileVersion{}
	for _, name := range []string{"gone_test.go", "never_test.go", "gone.go"} {
		b.seen[filepath.Join(b.dir, name)] = session.FileVersion{Absent: name == "never_test.go"}
	}
	if run, _ := b.verdict(); fmt.Sprint(run.TouchedTests, run.Changed) != "[gone_test.go] [gone_test.go]" {
		t.Errorf("%+v", run)
	}
}

func TestLongListsAreCut(t *testing.T) {
	t.Parallel()
	b := newBench(t, "true")
	for i := range maxListed + 7 {
		b.work.Changed = append(b.work.Changed, filepath.Join(b.dir, fmt.Sprint(i)))
	}
	if run, _ := b.verdict(); len(run.Changed) != maxListed || run.ChangedMore != 7 {
		t.Errorf("%d and %d more", len(run.Changed), run.ChangedMore)
	}
}

func TestWhatIsATest(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a_test.go", "pkg/test_a.py", "conftest.py", "src/a.test.ts", "a.spec.js", "src/CartTest.java", "CartTests.cs", "CartSpec.scala",
		"a_spec.rb", "tests/data.json", "Test/a.c", "__tests__/a.js", "x/testdata/golden.txt", "a_tests.rs"} {
		if !isTest(name) {
			t.Errorf("%s is not taken for a test", name)
		}
	}
	for _, name := range []string{"a.go", "latest.py", "contest.go", "src/attestation.ts", "testing.md", "test", "spec.md", "tests/__pycache__/a.pyc", "inspector.js", "fastest.java"} {
		if isTest(name) {
			t.Errorf("%s is taken for a test", name)
		}
	}
}

func TestScriptsOfACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, want string }{
		{"./check.sh", "check.sh"},
		{"cd . && bash 'check.sh' --fast", "check.sh"},
		{"make check", "Makefile"},
		{"go test ./...", ""},
		{"sh /bin/true", ""},
		{"CI=check.sh true", "check.sh"},
	} {
		b := newBench(t, c.command)
		b.write("check.sh", "")
		b.write("Makefile", "")
		got := New(b.o).scripts()
		for i := range got {
			got[i] = filepath.Base(got[i])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.command, got, c.want)
		}
	}
}
