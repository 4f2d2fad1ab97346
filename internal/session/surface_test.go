package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"dsh/internal/llm"
)

func replace(text string, start, end int, sources ...int) Draft {
	return Draft{Data: UserMessage{userMsg(text)}, Surface: &SurfaceOp{Replace: true, Start: start, End: end}, Sources: sources}
}

// four is a log whose surface is the events 2, 3, 4 and 5.
func four(t *testing.T) *script {
	return newScript(t).log(TurnStart{1}, StepStart{1, 1}).add(user("a"), user("b"), user("c"), user("d"))
}

func TestSU(t *testing.T) {
	t.Parallel()
	t.Run("SU01 appends stand in order of their seqs", func(t *testing.T) {
		s := four(t)
		s.wantTexts("a", "b", "c", "d")
		var seqs []int
		for _, n := range s.f.surface.nodes {
			seqs = append(seqs, n.seq)
		}
		if !slices.Equal(seqs, []int{2, 3, 4, 5}) {
			t.Errorf("nodes are %v", seqs)
		}
	})
	t.Run("SU02 a replace takes the place of its span", func(t *testing.T) {
		four(t).add(replace("ab", 2, 3, 2, 3)).wantTexts("ab", "c", "d")
		four(t).add(replace("B", 3, 3, 3)).wantTexts("a", "B", "c", "d")
		s := four(t).add(replace("bc", 3, 4, 4, 3, 0))
		s.wantTexts("a", "bc", "d")
		s.add(replace("all", 6, 5, 6, 5)).wantTexts("a", "all") // by position, not by seq
	})
	t.Run("SU03 a replace of something else is refused", func(t *testing.T) {
		s := four(t)
		for _, span := range [][2]int{{0, 3}, {2, 9}, {4, 3}, {-1, 3}} {
			s.refuse("not a span", replace("x", span[0], span[1], 2, 3, 4, 5))
		}
	})
	t.Run("SU04 a replace cites all that it hides", func(t *testing.T) {
		s := four(t)
		s.refuse("does not cite", replace("x", 2, 4, 2, 4))
		s.refuse("does not cite", replace("x", 2, 2))
	})
	t.Run("SU05 sources are earlier, unique, and on surface events", func(t *testing.T) {
		s := four(t)
		for _, sources := range [][]int{{2, 2}, {6}, {7}, {3, -1}, {4, 3, 4}} {
			d := user("x")
			d.Sources = sources
			s.refuse("there twice", d)
		}
		s.refuse("no sources", Draft{Data: Title{"x"}, Sources: []int{1}})
		s.refuse("no sources", Draft{Data: Title{"x"}, Sources: []int{}})
		d := user("x")
		d.Sources = []int{}
		s.refuse("only an assistant message", d)
		s.add(reply(1, 1, answerMsg("x")))
		if got := s.evs[6].Sources; got == nil || len(got) != 0 {
			t.Errorf("the empty stream is cited as %v", got)
		}
	})
	t.Run("SU09 a replace rebuilds the list", func(t *testing.T) {
		s := four(t)
		before, g1 := s.f.messages()
		s.add(replace("bc", 3, 4, 3, 4))
		after, g2 := s.f.messages()
		if g1 == g2 {
			t.Error("the generation stayed")
		}
		if after[0] != before[0] || after[2] != before[3] {
			t.Error("untouched messages moved in memory")
		}
		if len(before) != 4 || before[1].PlainText() != "b" {
			t.Error("the list given out before changed")
		}
	})
	t.Run("SU10 the lists given out do not touch each other", func(t *testing.T) {
		s := four(t)
		first, _ := s.f.messages()
		_ = append(first, nil)
		s.add(user("e"))
		second, _ := s.f.messages()
		if len(first) != 4 || second[4] == nil || cap(second) != len(second) {
			t.Error("an append to a list reached another")
		}
	})
	t.Run("SU11 an empty assistant message is not seen", func(t *testing.T) {
		s := four(t).add(reply(1, 1, answerMsg("")))
		s.wantTexts("a", "b", "c", "d")
		s.log(StepEnd{1, 1})
		s.add(replace("cx", 4, 6, 4, 5, 6)).wantTexts("a", "b", "cx")
	})
	t.Run("SU13 an event tells how it came on the surface", func(t *testing.T) {
		s := four(t).add(replace("x", 2, 2, 2))
		for i, want := range []string{"", "", "append", "append", "append", "append", "replace"} {
			got := ""
			if op := s.evs[i].Surface; op != nil && op.Replace {
				got = "replace"
			} else if op != nil {
				got = "append"
			}
			if got != want {
				t.Errorf("event %d is %q, want %q", i, got, want)
			}
		}
	})
	t.Run("SU14 the operation and the sources are copies", func(t *testing.T) {
		s := four(t)
		d := replace("x", 2, 3, 2, 3)
		s.add(d)
		d.Surface.Start, d.Sources[0] = 5, 5
		if ev := s.evs[6]; ev.Surface.Start != 2 || ev.Sources[0] != 2 {
			t.Errorf("the event changed: %+v", ev)
		}
	})
}

func TestSUResultsAreReplacedOneByOne(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("", "c1", "c2"))).log(call(1, 1, "c1"), call(1, 1, "c2"))
	s.add(result(1, 1, "c1", "long one", 4), result(1, 1, "c2", "long two", 5))
	shorten := func(change func(*ToolResult)) Draft {
		r := ToolResult{Turn: 1, Step: 1, Message: resultMsg("c1", "short")}
		change(&r)
		return Draft{Data: r, Surface: &SurfaceOp{Replace: true, Start: 6, End: 6}, Sources: []int{6}}
	}
	for _, change := range []func(*ToolResult){
		func(r *ToolResult) { r.Message = resultMsg("c2", "short") },
		func(r *ToolResult) { r.Message.Content[0].IsError = true },
		func(r *ToolResult) { r.Error = &ToolError{"E", "E"} },
		func(r *ToolResult) { r.Meta = json.RawMessage(`{}`) },
		func(r *ToolResult) { r.Step = 2 },
	} {
		s.refuse("content only", shorten(change))
	}
	both := shorten(func(*ToolResult) {})
	both.Surface.End, both.Sources = 7, []int{6, 7}
	s.refuse("exactly one", both)
	onUser := shorten(func(*ToolResult) {})
	onUser.Surface.Start, onUser.Surface.End, onUser.Sources = 2, 2, []int{2}
	s.refuse("exactly one", onUser)
	s.add(shorten(func(*ToolResult) {})).wantTexts("hi", "", "c1=short", "c2=long two")
	s.finish(1, 1)
	again := shorten(func(*ToolResult) {})
	again.Surface.Start, again.Surface.End, again.Sources = 8, 8, []int{8}
	s.refuse("inside a turn", again)
}

// fromScratch derives the messages of a log without any of the incremental code.
func fromScratch(evs []Event) []string {
	type entry struct {
		seq  int
		json string
		seen bool
	}
	var list []entry
	for _, ev := range evs {
		if ev.Surface == nil {
			continue
		}
		var m llm.Message
		switch p := ev.Data.(type) {
		case UserMessage:
			m = p.Message
		case AssistantMessage:
			m = p.Message
		case ToolResult:
			m = p.Message
		}
		b, _ := json.Marshal(m)
		e := entry{ev.Seq, string(b), m.Role == llm.User || len(m.Content) > 0}
		if !ev.Surface.Replace {
			list = append(list, e)
			continue
		}
		from := slices.IndexFunc(list, func(e entry) bool { return e.seq == ev.Surface.Start })
		to := slices.IndexFunc(list, func(e entry) bool { return e.seq == ev.Surface.End })
		list = slices.Replace(list, from, to+1, e)
	}
	var out []string
	for _, e := range list {
		if e.seen {
			out = append(out, e.json)
		}
	}
	return out
}

func TestSU08IncrementalIsFromScratch(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		s := randomLog(t, seed, 200)
		f := newFold(s.h)
		lists := map[int][]*llm.Message{}
		for i := range s.evs {
			if err := f.load(&s.evs[i]); err != nil {
				t.Fatal(err)
			}
			if i%7 != 0 && i != len(s.evs)-1 {
				continue
			}
			msgs, _ := f.messages()
			lists[i] = msgs
			var got []string
			for _, m := range msgs {
				b, _ := json.Marshal(m)
				got = append(got, string(b))
			}
			if want := fromScratch(s.evs[:i+1]); !slices.Equal(got, want) {
				t.Fatalf("seed %d, after event %d:\n%v\n%v", seed, i, got, want)
			}
		}
		for i, msgs := range lists { // later events left the lists given out alone
			if len(msgs) != len(fromScratch(s.evs[:i+1])) {
				t.Fatalf("seed %d: the list of event %d changed", seed, i)
			}
		}
	}
}

func TestSUMessagesDoNotRaceWithAppends(t *testing.T) {
	t.Parallel()
	s := four(t)
	done := make(chan int)
	for i := range 200 {
		msgs, _ := s.f.messages()
		go func() {
			n := 0
			for _, m := range msgs {
				n += len(m.PlainText())
			}
			done <- n
		}()
		if i%50 == 49 {
			at := s.f.surface.nodes[1].seq
			s.add(replace(fmt.Sprint("r", i), at, at, at))
		}
		s.add(user(fmt.Sprint(i)))
	}
	for range 200 {
		<-done
	}
}

func BenchmarkSurfaceAppend(b *testing.B) {
	for _, size := range []int{10, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var sf surface
			ev := user("x").event(0, 1)
			for range size {
				sf.apply(&ev)
			}
			b.ResetTimer()
			for b.Loop() {
				sf.apply(&ev)
				sf.Messages()
			}
		})
	}
}
