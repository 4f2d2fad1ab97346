package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

// patience is how long a script waits for what must come: much longer than it takes
// on a machine that does other things too.
func patience() <-chan time.Time { return time.After(30 * time.Second) }

// spawned is a process that runs beside a script.
type spawned struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// spawn NAME PROGRAM ARGS... starts a program in the background. Its streams go to
// NAME.out and NAME.err. The end of the script kills it.
func spawn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: spawn NAME PROGRAM ARGS...")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Env = environment(ts)
	cmd.Dir = ts.MkAbs(".")
	out, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer out.Close()
	errOut, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer errOut.Close()
	cmd.Stdout, cmd.Stderr = out, errOut
	ts.Check(cmd.Start())
	p := &spawned{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // its state says it
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-p.ended
	})
	stageOf(ts).spawned[args[0]] = p
	ts.Setenv("PID", strconv.Itoa(cmd.Process.Pid))
}

// environment is the script's, of which testscript hands out single variables only.
func environment(ts *testscript.TestScript) []string {
	file := filepath.Join(ts.Getenv("WORK"), ".environment")
	ts.Check(ts.Exec("sh", "-c", "env -0 > "+file))
	return strings.Split(strings.TrimRight(ts.ReadFile(file), "\x00"), "\x00")
}

func spawnedOf(ts *testscript.TestScript, name string) *spawned {
	p := stageOf(ts).spawned[name]
	if p == nil {
		ts.Fatalf("nothing was spawned as %s", name)
	}
	return p
}

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}

// signal NAME INT|TERM|HUP|KILL sends a signal to a spawned program.
func signalSpawned(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || signals[args[1]] == 0 {
		ts.Fatalf("usage: signal NAME INT|TERM|HUP|KILL")
	}
	ts.Check(spawnedOf(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

// ends NAME CODE waits for the end of a spawned program and wants its exit code,
// which is -1 if a signal killed it.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ends NAME CODE")
	}
	p := spawnedOf(ts, args[0])
	select {
	case <-p.ended:
	case <-patience():
		ts.Fatalf("%s does not end", args[0])
	}
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code %s, want %s\nstdout: %s\nstderr: %s", got, args[1], ts.ReadFile(args[0]+".out"), ts.ReadFile(args[0]+".err"))
	}
}

// pollEvery is how often a file is looked at that another process writes.
const pollEvery = 10 * time.Millisecond

// until FILE PATTERN waits until a file matches. FILE may be a glob.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until FILE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for limit := patience(); ; {
		names, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil && pattern.Match(data) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-limit:
			ts.Fatalf("%s does not come to match %s", args[0], args[1])
		}
	}
}

// session sets $ID and $LOG to the session whose log was written last.
func newestSession(ts *testscript.TestScript, neg bool, args []string) {
	logs, err := filepath.Glob(filepath.Join(ts.Getenv("DSH_HOME"), "sessions", "*", "*", "session.jsonl"))
	ts.Check(err)
	var newest string
	var when time.Time
	for _, log := range logs {
		info, err := os.Stat(log)
		ts.Check(err)
		if info.ModTime().After(when) {
			newest, when = log, info.ModTime()
		}
	}
	if neg || newest == "" {
		ts.Fatalf("there is no session")
	}
	ts.Setenv("LOG", newest)
	ts.Setenv("ID", filepath.Base(filepath.Dir(newest)))
}

// says PATTERN wants standard error to be one line of dsh's that matches, without
// anything that a terminal would obey. says FILE PATTERN looks at a spawned
// program's.
func says(ts *testscript.TestScript, neg bool, args []string) {
	file, pattern := "stderr", ""
	switch len(args) {
	case 1:
		pattern = args[0]
	case 2:
		file, pattern = args[0], args[1]
	default:
		ts.Fatalf("usage: says [FILE] PATTERN")
	}
	text := ts.ReadFile(file)
	line, ok := strings.CutPrefix(strings.TrimSuffix(text, "\n"), "dsh: ")
	matches, err := regexp.MatchString(pattern, line)
	ts.Check(err)
	if neg || !ok || !matches || termtext.Line(line) != line {
		ts.Fatalf("want one line from dsh that matches %q, got %q", pattern, text)
	}
}

// json FILE PATH=VALUE... wants FILE to be one JSON object and nothing else, with
// these values. A path is names and indices between dots, a value is JSON or a bare
// string; PATH=~TEXT wants a string that contains a text, PATH=>NAME sets $NAME.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: json FILE PATH=VALUE...")
	}
	text := ts.ReadFile(args[0])
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || strings.Count(text, "\n") != 1 {
		ts.Fatalf("%s is not one JSON object on a line (%v):\n%s", args[0], err, text)
	}
	for _, arg := range args[1:] {
		path, want, _ := strings.Cut(arg, "=")
		got, err := lookUp(object, path)
		ts.Check(err)
		if name, ok := strings.CutPrefix(want, ">"); ok {
			ts.Setenv(name, got)
			continue
		}
		part, contained := strings.CutPrefix(want, "~")
		if contained && !strings.Contains(got, part) || !contained && got != want {
			ts.Fatalf("%s is %s, want %s\n%s", path, got, want, text)
		}
	}
}

// lookUp is a value in text: a string as it is, anything else as JSON.
func lookUp(v any, path string) (string, error) {
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			inner, ok := at[name]
			if !ok {
				return "absent", nil
			}
			v = inner
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(at) {
				return "absent", nil
			}
			v = at[i]
		default:
			return "", fmt.Errorf("%s: nothing is inside %v", path, v)
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// events FILE TYPE... wants FILE to be a session's header and then events as they
// are stored, these types among them in this order.
func checkEvents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: events FILE TYPE...")
	}
	header, rest, _ := strings.Cut(ts.ReadFile(args[0]), "\n")
	if _, err := session.DecodeHeader([]byte(header)); err != nil {
		ts.Fatalf("no header (%v): %s", err, header)
	}
	wanted := args[1:]
	for line := range strings.Lines(rest) {
		ev := map[string]json.RawMessage{} // its names are exact, a struct's are not
		err := json.Unmarshal([]byte(line), &ev)
		if err != nil || ev["type"] == nil || ev["seq"] == nil || ev["time"] == nil || ev["data"] == nil {
			ts.Fatalf("no event (%v): %s", err, line)
		}
		if len(wanted) > 0 && string(ev["type"]) == strconv.Quote(wanted[0]) {
			wanted = wanted[1:]
		}
	}
	if len(wanted) > 0 {
		ts.Fatalf("no %s, or not in this order", wanted[0])
	}
}

// replace FILE OLD NEW changes the first OLD in a file; both are Go strings
// without their quotes.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	var texts [2]string
	for i, arg := range args[1:] {
		text, err := strconv.Unquote("`" + arg + "`")
		if strings.Contains(arg, `\`) {
			text, err = strconv.Unquote(`"` + arg + `"`)
		}
		ts.Check(err)
		texts[i] = text
	}
	data := ts.ReadFile(args[0])
	if !strings.Contains(data, texts[0]) {
		ts.Check(errors.New(args[0] + " does not hold " + args[1]))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(data, texts[0], texts[1], 1)), 0o600))
}
