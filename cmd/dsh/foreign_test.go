package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dsh/internal/session"
)

// foreignLogs finds logs that the original wrote. They are not part of the project:
// DSH_FOREIGN_LOGS names a folder with them.
func foreignLogs(t *testing.T) []string {
	dir := os.Getenv("DSH_FOREIGN_LOGS")
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || dir == "" || len(files) == 0 {
		t.Skip("no logs of the original at hand: DSH_FOREIGN_LOGS may name a folder with some")
	}
	return files
}

// filled is a log with its recorder's placeholders replaced.
func filled(t *testing.T, file, cwd string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.NewReplacer(
		"{{cwd}}", cwd,
		"{{sessionId}}", "0d5c1a52-0000-4000-8000-000000000001",
		"{{system}}", "You are an agent.",
		`"{{tools}}"`, `[{"name":"bash","description":"Runs a command.","parameters":{"type":"object","properties":{}}}]`,
	).Replace(string(data)))
}

func TestForeignLogsOpenAndContinue(t *testing.T) {
	for _, file := range foreignLogs(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			path := b.write("foreign/session.jsonl", string(filled(t, file, b.work)))
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			snapshot, err := session.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := session.Check(snapshot.Header(), snapshot.Events()); err != nil {
				t.Error(err)
			}
			if got, want := derived(t, snapshot), implied(t, before); got != want {
				t.Errorf("the log derives\n%s\nits events imply\n%s", got, want)
			}
			script := b.write("go.txt", "== answer\ntext went on\n")
			r := b.dsh("run", "--resume", path, "-m", "script:"+script, "go on")
			r.want(0, "went on\n", "continuing a copy")
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the original file was changed (%v)", err)
			}
			b.dsh("verify", b.lastSession()).want(0, "structure ok", "")
		})
	}
}

// derived is what our fold makes of the log, in a form to compare.
func derived(t *testing.T, snapshot *session.Snapshot) string {
	t.Helper()
	var sb strings.Builder
	for _, m := range snapshot.Messages() {
		content, err := json.Marshal(m.Content)
		if err != nil {
			t.Fatal(err)
		}
		sb.WriteString(string(m.Role) + " " + m.ID + " " + canonicalJSON(t, content) + "\n")
	}
	return sb.String()
}

// implied derives the messages a second time, from the raw lines and with nothing of
// the session package: appends at the end, a replace in place of what it names.
func implied(t *testing.T, log []byte) string {
	t.Helper()
	type node struct {
		seq  int
		text string
	}
	var nodes []node
	seq := 0
	for line := range strings.Lines(string(log)) {
		var ev struct {
			Type      string
			SurfaceOp json.RawMessage
			Data      struct {
				Message *struct {
					ID, Role string
					Content  json.RawMessage
				}
				ID, Role    string
				Content     json.RawMessage
				Texts, Args []string
			}
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Type == "session" {
			continue
		}
		n := node{seq: seq}
		seq += max(1, len(ev.Data.Texts)+len(ev.Data.Args))
		if len(ev.SurfaceOp) == 0 {
			continue
		}
		id, role, content := ev.Data.ID, ev.Data.Role, ev.Data.Content
		if m := ev.Data.Message; m != nil {
			id, role, content = m.ID, m.Role, m.Content
		}
		n.text = role + " " + id + " " + canonicalJSON(t, content) + "\n"
		if string(ev.SurfaceOp) == `"append"` {
			nodes = append(nodes, n)
			continue
		}
		var op struct{ Start, End int }
		if err := json.Unmarshal(ev.SurfaceOp, &op); err != nil {
			t.Fatal(err)
		}
		var next []node
		for _, old := range nodes {
			switch {
			case old.seq == op.Start:
				next = append(next, n)
			case old.seq < op.Start || old.seq > op.End:
				next = append(next, old)
			}
		}
		nodes = next
	}
	var sb strings.Builder
	for _, n := range nodes {
		sb.WriteString(n.text)
	}
	return sb.String()
}

func canonicalJSON(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestForeignLogsAreForkedSearchedAndExported(t *testing.T) {
	for _, file := range foreignLogs(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			path := b.write("foreign/session.jsonl", string(filled(t, file, b.work)))
			before := b.read("foreign/session.jsonl")
			b.dsh("sessions", "export", path).want(0, "\n**You**", "")
			b.dsh("sessions", "export", "--format", "json", path).want(0, `"kind":"end"`, "")
			b.dsh("sessions", "repair", path).want(0, "nothing to salvage", "")
			b.dsh("sessions", "rename", path, "mine").want(2, "", "is not a session of the store")
			b.dsh("sessions", "delete", "--yes", path).want(2, "", "is not a session of the store")
			b.dsh("log", path, "--type", "turn/end").want(0, "turn/end", "")
			b.dsh("sessions", "fork", path).want(0, "(dsh resume ", "")
			script := b.write("go.txt", "== answer\ntext went on\n")
			b.dsh("run", "-c", "-m", "script:"+script, "go on from here").want(0, "went on\n", "")
			b.dsh("verify", b.lastSession()).want(0, "structure ok", "")
			b.dsh("sessions", "search", "from here").want(0, "prompt", "")
			if b.read("foreign/session.jsonl") != before {
				t.Error("the original file was changed")
			}
		})
	}
}
