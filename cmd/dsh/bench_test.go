package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bench is a place to try the program in: a workspace, a state folder and an
// environment of its own. Commands run in this process.
type bench struct {
	t    *testing.T
	dir  string
	work string
	env  map[string]string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, work: filepath.Join(dir, "work")}
	b.env = map[string]string{"HOME": filepath.Join(dir, "home"), "DSH_HOME": filepath.Join(dir, "state")}
	for _, d := range []string{b.work, b.env["HOME"]} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// write makes a file below the bench's folder and returns its path.
func (b *bench) write(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// read is a file below the bench's folder.
func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// outcome is what a command did.
type outcome struct {
	t        *testing.T
	args     []string
	code     int
	out, err string
}

// dsh runs a command line. Runs work in the bench's workspace.
func (b *bench) dsh(args ...string) outcome {
	b.t.Helper()
	if args[0] == "run" {
		args = append([]string{"run", "-C", b.work}, args[1:]...)
	}
	var out, errOut bytes.Buffer
	code := run(args, streams{in: strings.NewReader(""), out: &out, err: &errOut,
		getenv: func(name string) string { return b.env[name] }})
	return outcome{t: b.t, args: args, code: code, out: out.String(), err: errOut.String()}
}

// want holds an outcome to its exit code and to what its streams contain. An empty
// text wants nothing of the stream.
func (o outcome) want(code int, out, errText string) outcome {
	o.t.Helper()
	if o.code != code || !strings.Contains(o.out, out) || !strings.Contains(o.err, errText) {
		o.t.Errorf("dsh %s\nexit %d, want %d\nstdout: %s\n  want: %s\nstderr: %s\n  want: %s",
			strings.Join(o.args, " "), o.code, code, o.out, out, o.err, errText)
	}
	return o
}

// lastSession is the id of the session that was used last.
func (b *bench) lastSession() string {
	b.t.Helper()
	list := b.dsh("sessions", "list").out
	id, _, _ := strings.Cut(list, " ")
	if id == "" {
		b.t.Fatal("there is no session")
	}
	return id
}

// logPath is the log of the session that was used last.
func (b *bench) logPath() string {
	b.t.Helper()
	for line := range strings.Lines(b.dsh("sessions", "show", b.lastSession()).out) {
		if path, ok := strings.CutPrefix(line, "log"); ok {
			return strings.TrimSpace(path)
		}
	}
	b.t.Fatal("sessions show names no log")
	return ""
}
