package transcript

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// randomLog is a log as a loop writes it, with steers, retries, approvals, cancels and
// crashes, and with a few events where nobody expects them.
func randomLog(r *rand.Rand) []session.Event {
	s := &script{now: 1000}
	for range 1 + r.IntN(4) {
		s.prompt(fmt.Sprint("prompt ", s.turn))
		for range 1 + r.IntN(3) {
			randomStep(r, s)
			if r.IntN(4) == 0 {
				break
			}
			s.add(session.StepEnd{Turn: s.turn, Step: s.step})
			m := message(fmt.Sprint("s", len(s.events)), "steer")
			s.add(session.InboxSpliced{Target: session.NextStep, Inserted: []llm.Message{m}}, session.InboxSpliced{Target: session.NextStep, RemovedCount: 1})
			s.begin(m)
		}
		s.end(session.EndReason{Kind: []session.EndKind{session.Completed, session.Aborted, session.Interrupted, session.Failed}[r.IntN(4)]})
		odd(r, s)
	}
	return s.events
}

func odd(r *rand.Rand, s *script) {
	all := []session.Payload{session.EndSeed{}, session.PolicyPreset{Preset: "full"}, session.PolicyPreset{Preset: "ask"}, session.CompactionStart{CompactionID: "k"},
		session.CompactionEnd{CompactionID: "k"}, session.Raw{T: "x/y"}, note("notice", "you know"), note("snapshot", "env"), session.TurnBudget{Kind: "calls", Limit: 9, Used: 8},
		session.PolicyRule{Scope: "session", Pattern: "p", Decision: session.Allow}, session.RequestHeader{Header: llm.Header{Config: llm.Config{Model: fmt.Sprint(r.IntN(3))}}}, session.Title{Title: "t"},
		session.JobStarted{ID: "bash-1", Label: "make"}, session.JobSettled{ID: "bash-1", Status: session.JobCompleted, Detail: "exit code: 0"}}
	for range r.IntN(3) {
		s.add(all[r.IntN(len(all))])
	}
}

func randomStep(r *rand.Rand, s *script) {
	blocks := []llm.Block{thought("hm, let me see"), llm.TextBlock(" \n"), llm.TextBlock("Some *text*\n\n- a\n- b\n\nand more."),
		call(fmt.Sprint("c", len(s.events)), "bash", `{"target":"ls"}`), call(fmt.Sprint("d", len(s.events)), "read", `{"target":"a.go"}`)}
	r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	blocks = blocks[:1+r.IntN(len(blocks))]
	for n := 1; r.IntN(3) == 0; n++ { // attempts that fail
		s.say(1+r.IntN(9), blocks[:r.IntN(len(blocks)+1)]...)
		odd(r, s)
		s.add(session.Retry{RetryID: "r", Turn: s.turn, Step: s.step, Retry: n, DelayMs: 500}, session.RetryStarted{RetryID: "r", Retry: n},
			session.RequestSent{Turn: s.turn, Step: s.step, Attempt: n + 1})
	}
	switch r.IntN(8) {
	case 0: // it failed for good
		s.say(5, blocks...)
		return
	case 1: // or was cut off
		s.say(5, blocks...)
		s.add(session.AssistantMessage{Turn: s.turn, Step: s.step, Interrupted: true, Message: llm.Message{Role: llm.Assistant, Content: blocks[:r.IntN(len(blocks)+1)]}})
		return
	}
	s.answer(blocks...)
	for i := range blocks {
		if c := blocks[i]; c.Type == llm.ToolCall {
			randomCall(r, s, c)
		}
	}
}

func randomCall(r *rand.Rand, s *script, c llm.Block) {
	if r.IntN(9) == 0 {
		return // nothing was heard of it
	}
	s.start(c)
	odd(r, s)
	if r.IntN(3) == 0 {
		s.add(session.ApprovalAsked{ID: "q" + c.ID, CallID: c.ID}, session.ApprovalDecided{ID: "q" + c.ID, Outcome: []string{"allowed-once", "rejected", "cancelled"}[r.IntN(3)]},
			session.PolicyDecision{CallID: c.ID, Decision: session.Allow}, session.PolicyRule{Pattern: "p"})
	}
	if r.IntN(9) > 0 {
		s.result(c, []string{"", "", "DENIED", session.CodeAborted, session.CodeNotRun, "X"}[r.IntN(6)], "out\nput", nil)
	}
}

// withoutChunks is a log as it is read again: a message supersedes all chunks that
// came between the message before and it.
func withoutChunks(events []session.Event) []session.Event {
	var kept []session.Event
	for _, ev := range events {
		if ev.Type == session.TypeAssistantMessage {
			kept = slices.DeleteFunc(kept, func(ev session.Event) bool { return ev.Type == session.TypeAssistantChunk })
		}
		kept = append(kept, ev)
	}
	return kept
}

func TestTRES01LiveAndReplayMakeTheSameBlocks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		events := randomLog(rand.New(rand.NewPCG(seed, 1)))
		live := &Projection{}
		for i := range events {
			live.Apply(events[i])
		}
		for name, replay := range map[string]*Projection{"in one piece": project(events), "without chunks": project(withoutChunks(events))} {
			if n := replay.Settled(); n != live.Settled() {
				t.Fatalf("seed %d, %s: %d blocks settled, live %d", seed, name, n, live.Settled())
			}
			for i := range live.Settled() {
				if !reflect.DeepEqual(live.Blocks()[i], replay.Blocks()[i]) {
					t.Fatalf("seed %d, %s: block %d is\n%+v, live\n%+v", seed, name, i, replay.Blocks()[i], live.Blocks()[i])
				}
			}
		}
	}
}

// TestSettledBlocksNeverChange: whoever prints each block once, when it has settled,
// has printed the transcript; also when the log is cut at any event and read again.
func TestSettledBlocksNeverChange(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		events := randomLog(rand.New(rand.NewPCG(seed, 2)))
		live := &Projection{}
		var printed []Block
		for i := range events {
			live.Apply(events[i])
			if live.Settled() < len(printed) {
				t.Fatalf("seed %d, event %d: %d blocks settled after %d were", seed, i, live.Settled(), len(printed))
			}
			printed = append(printed, live.Blocks()[len(printed):live.Settled()]...)
			if cut := project(withoutChunks(events[:i+1])); !reflect.DeepEqual(cut.Blocks()[:cut.Settled()], printed) && len(printed)+cut.Settled() > 0 {
				t.Fatalf("seed %d, cut after event %d: other blocks than live", seed, i)
			}
		}
		if !reflect.DeepEqual(printed, live.Blocks()[:live.Settled()]) {
			t.Fatalf("seed %d: a settled block changed", seed)
		}
		if live.Settled() != len(live.Blocks()) {
			last := &live.Blocks()[live.Settled()]
			if last.Text != "Compacting" {
				t.Fatalf("seed %d: the log is at rest and a block is live: %+v", seed, *last)
			}
		}
	}
}

// TestVersionsTellWhatChanged: a block with the same id and version looks the same.
// Ids are unique.
func TestVersionsTellWhatChanged(t *testing.T) {
	t.Parallel()
	type version struct {
		id ID
		n  int
	}
	for seed := range uint64(16) {
		events := randomLog(rand.New(rand.NewPCG(seed, 3)))
		p := &Projection{}
		seen := map[version]string{}
		rev := -1
		for i := range events {
			p.Apply(events[i])
			ids := map[ID]bool{}
			var all strings.Builder
			for k := range p.Blocks() {
				b := p.Blocks()[k]
				if ids[b.ID] {
					t.Fatalf("seed %d: two blocks have the id %v", seed, b.ID)
				}
				ids[b.ID] = true
				b.Spaced = false // belongs to the place
				rows := plain(NewRenderer(present).Rows(&b, Options{Expanded: true}))
				all.WriteString(rows)
				if was, ok := seen[version{b.ID, b.Version}]; ok && was != rows {
					t.Fatalf("seed %d, event %d (%s): block %v changed and its version did not: from\n%s\nto\n%s", seed, i, events[i].Type, b.ID, was, rows)
				}
				seen[version{b.ID, b.Version}] = rows
			}
			if p.Rev() == rev && seen[version{ID{-1, 0}, rev}] != all.String() {
				t.Fatalf("seed %d, event %d (%s): the picture changed and Rev did not", seed, i, events[i].Type)
			}
			rev = p.Rev()
			seen[version{ID{-1, 0}, rev}] = all.String()
		}
	}
}

// TestStreamedRowsAreThoseOfTheMessage: rows that were final while the answer streamed
// are the first ones of the settled answer.
func TestStreamedRowsAreThoseOfTheMessage(t *testing.T) {
	t.Parallel()
	text := "# Head\n\nA paragraph that is long enough to be broken into more than one row of text.\n\n- one\n- two\n\n```go\nfunc main() {\n\tprintln()\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.\n"
	for n := 1; n < 9; n++ {
		s := (&script{now: 1000}).prompt("x").answer(llm.TextBlock(text))
		p, r := &Projection{}, NewRenderer(nil)
		o := Options{Width: 40}
		var final []string
		for i := range s.events {
			p.Apply(s.events[i])
			last := len(p.Blocks()) - 1
			if last < 1 || i%n > 0 && i < len(s.events)-1 {
				continue
			}
			b := &p.Blocks()[last]
			rows := slices.Clone(r.Rows(b, o))
			if k := r.Final(b, o); k < len(final) || !slices.Equal(rows[:len(final)], final) {
				t.Fatalf("final rows changed from\n%q\nto\n%q", final, rows)
			} else {
				final = rows[:k]
			}
		}
		b := &p.Blocks()[len(p.Blocks())-1]
		if fresh := NewRenderer(nil).Rows(b, o); !slices.Equal(fresh, final) || len(r.live) > 0 {
			t.Fatalf("streamed\n%q, at once\n%q; %d drawings are left", final, fresh, len(r.live))
		}
	}
}

func TestFailedAttemptLeavesNothing(t *testing.T) {
	t.Parallel()
	s := (&script{now: 1000}).prompt("x").say(3, thought("hm"), llm.TextBlock("half an answer"), call("c", "bash", `{"target":"l`))
	if n := len(project(s.events).Blocks()); n != 4 {
		t.Fatalf("%d blocks while it streams, want 4", n)
	}
	s.add(session.Retry{RetryID: "r", Retry: 1, DelayMs: 1000, Failure: llm.Failure{Code: llm.CodeStreamClosed}})
	p := project(s.events)
	if len(p.Blocks()) != 2 || !strings.Contains(plain(picture(p, Options{})), "Connection lost while answering. Trying again soon") {
		t.Errorf("after the failure: %s", plain(picture(p, Options{})))
	}
	s.answer(llm.TextBlock("whole"))
	if got := plain(picture(project(s.events), Options{})); strings.Contains(got, "half") || !strings.Contains(got, "whole") {
		t.Errorf("after the answer: %s", got)
	}
}

func TestInterruptedAnswerStays(t *testing.T) {
	t.Parallel()
	s := (&script{now: 1000}).prompt("x").say(3, llm.TextBlock("half an answer"))
	s.add(session.AssistantMessage{Turn: 1, Step: 1, Interrupted: true, Message: llm.Message{Content: []llm.Block{llm.TextBlock("half an answer")}}})
	s.end(session.EndReason{Kind: session.Aborted, Cause: &session.Cause{Kind: session.ByUser}})
	p := project(s.events)
	if got := plain(picture(p, Options{})); !strings.Contains(got, "half an answer\n(cut off)\n\nInterrupted after ") || p.Settled() != 3 {
		t.Errorf("%d settled of\n%s", p.Settled(), got)
	}
}

func TestStreamingArgumentsShowTheTarget(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"verb":"Write","target":"docs/api.md","text":"one\ntw`: "Write docs/api.md", `{"verb":"Write","target":"docs/a`: "Write docs/a", `{"verb":"Write","target":"a\`: "Write a",
		`{"verb":"Write","target":"a","te`: "Write a", `{"verb":"Write","target":"a",`: "Write a", `{"verb":"W","diffs":[{"path":"a"},`: "W", `{`: "{", ``: "write",
	} {
		s := (&script{now: 1000}).prompt("x").say(200, call("c", "write", args))
		if got := plain(NewRenderer(present).Rows(&project(s.events).Blocks()[1], Options{})); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

func TestPrunedResultStaysOnScreen(t *testing.T) {
	t.Parallel()
	c := call("c", "read", `{}`)
	s := (&script{now: 1000}).prompt("x").answer(c).start(c).result(c, "", "all of it", nil)
	before := picture(project(s.events), Options{Expanded: true})
	s.result(c, "", "(pruned)", nil)
	s.events[len(s.events)-1].Surface = &session.SurfaceOp{Replace: true}
	if got := picture(project(s.events), Options{Expanded: true}); !slices.Equal(got, before) {
		t.Errorf("a pruned result is\n%s", plain(got))
	}
}

// TestBrokenLogsMakeATranscript: events lost, doubled and out of order make some
// picture, and what has settled stays.
func TestBrokenLogsMakeATranscript(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		events := randomLog(r)
		for range 1 + r.IntN(len(events)) {
			i, j := r.IntN(len(events)), r.IntN(len(events))
			events[i], events[j] = events[j], events[i]
		}
		events = events[r.IntN(len(events)):]
		for i := range events {
			events[i].Seq = i
		}
		p := &Projection{}
		var printed []Block
		for i := range events {
			p.Apply(events[i])
			for k := range printed {
				if k >= p.Settled() || !reflect.DeepEqual(p.Blocks()[k], printed[k]) {
					t.Fatalf("seed %d, %s: block %d had settled as %+v", seed, events[i].Type, k, printed[k])
				}
			}
			printed = append(printed, p.Blocks()[len(printed):p.Settled()]...)
		}
		checkRows(t, picture(p, Options{Expanded: true}), 80)
	}
}
