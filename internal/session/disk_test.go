package session

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// Helpers of the tests that need a disk.

const testCwd = "/home/someone/project"

func newLog(t testing.TB) *Log {
	t.Helper()
	l, err := Create(t.TempDir(), Header{Cwd: testCwd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func mustAppend(t testing.TB, l *Log, drafts ...Draft) []Event {
	t.Helper()
	evs, err := l.Append(drafts...)
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

func mustOpen(t testing.TB, l *Log) (*Log, Opened) {
	t.Helper()
	again, opened, err := Open(l.root, l.path)
	if err != nil {
		t.Fatal(err)
	}
	if opened.Odd != nil {
		t.Errorf("a log of ours does not verify: %v", opened.Odd)
	}
	t.Cleanup(func() { again.Close() })
	return again, opened
}

func mustClose(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// kill leaves a log as the death of its process would: nothing that waits is
// written, nothing is synced, the kernel takes the lock back.
func kill(t testing.TB, l *Log) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.stopFlusher()
	if err := errors.Join(l.file.close(), l.lock.f.Close()); err != nil {
		t.Fatal(err)
	}
}

func said(id, text string) llm.Message {
	return llm.Message{Role: llm.User, ID: id, Source: llm.Source{Kind: llm.FromUser}, Content: []llm.Block{llm.TextBlock(text)}}
}

func queued(id, text string) Draft {
	return Draft{Data: InboxSpliced{Target: NextTurn, Inserted: []llm.Message{said(id, text)}}}
}

func title(text string) Draft { return Draft{Data: Title{text}} }

func delta2(turn int, text string) Draft {
	return Draft{Data: AssistantChunk{turn, 1, llm.Chunk{Type: llm.TextDelta, Text: text}}}
}

// startTurn appends a turn up to its request: input, turn, step, header, sent.
func startTurn(t testing.TB, l *Log) (turn int) {
	t.Helper()
	turn = l.LastTurn() + 1
	id := fmt.Sprintf("msg-%d", turn)
	mustAppend(t, l, queued(id, fmt.Sprintf("question %d", turn)))
	mustAppend(t, l, Draft{Data: TurnStart{turn}}, Draft{Data: InboxSpliced{Target: NextTurn, RemovedCount: 1}})
	mustAppend(t, l, Draft{Data: StepStart{turn, 1}}, Visible(UserMessage{said(id, fmt.Sprintf("question %d", turn))}))
	if turn == 1 {
		mustAppend(t, l, Draft{Data: RequestHeader{llm.Header{Config: llm.Config{Provider: "p", Model: "m"}, System: "be good"}, "initial"}})
	}
	mustAppend(t, l, Draft{Data: RequestSent{Turn: turn, Step: 1, Attempt: 1, Sent: llm.Sent{Messages: turn, Repairs: []string{}}}})
	return turn
}

// stream appends n chunks one by one and returns their seqs.
func stream(t testing.TB, l *Log, turn, n int) (seqs []int) {
	t.Helper()
	for i := range n {
		seqs = append(seqs, mustAppend(t, l, delta2(turn, fmt.Sprintf("w%d ", i)))[0].Seq)
	}
	return seqs
}

func answered(turn int, sources []int) Draft {
	return Visible(AssistantMessage{Turn: turn, Step: 1, Message: llm.Message{Role: llm.Assistant, ID: fmt.Sprintf("answer-%d", turn),
		Source: llm.Source{Kind: llm.FromModel}, Content: []llm.Block{llm.TextBlock(fmt.Sprintf("answer %d", turn))}}}, sources...)
}

// wholeTurn appends a turn whose answer came in chunks.
func wholeTurn(t testing.TB, l *Log, chunks int) {
	t.Helper()
	turn := startTurn(t, l)
	mustAppend(t, l, answered(turn, stream(t, l, turn, chunks)))
	mustAppend(t, l, Draft{Data: StepEnd{turn, 1}}, Draft{Data: TurnEnd{turn, EndReason{Kind: Completed}}})
}

// valid reads the log at path in full, checks every rule, and returns its events.
func valid(t testing.TB, path string) []Event {
	t.Helper()
	s, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	evs := slices.Collect(s.Events())
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	if err := Check(s.Header(), slices.Values(evs)); err != nil {
		t.Fatal(err)
	}
	return evs
}

// text makes events comparable: their lines.
func text(t testing.TB, evs []Event) string {
	t.Helper()
	var b []byte
	for _, ev := range evs {
		var err error
		if b, err = appendEvent(b, ev); err != nil {
			t.Fatal(err)
		}
	}
	return string(b)
}

func linesOf(t testing.TB, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	if n := len(lines) - 1; lines[n] == "" {
		lines = lines[:n]
	}
	return lines
}

// write puts a log of the given lines into a store, where its header belongs.
func writeLog(t testing.TB, root string, h Header, content string) (path string) {
	t.Helper()
	path = filepath.Join(sessionDir(root, h.Cwd, h.ID), logName)
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), fileMode); err != nil {
		t.Fatal(err)
	}
	return path
}

func withoutChunks(evs iter.Seq[Event]) (list []Event) {
	for ev := range evs {
		if ev.Type != TypeAssistantChunk {
			list = append(list, ev)
		}
	}
	return list
}
