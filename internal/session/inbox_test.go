package session

import (
	"reflect"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// both has two messages in each queue.
func both(t testing.TB) *script {
	return newScript(t).log(queue(NextStep, "s1", "s2"), queue(NextTurn, "t1", "t2"))
}

// waits is the inbox in one line: next-step | next-turn, held ones in brackets.
func (s *script) waits() string {
	var parts [2][]string
	for _, it := range s.f.inbox.Items() {
		text := it.Text
		if it.Held {
			text = "(" + text + ")"
		}
		i := 0
		if it.Target == NextTurn {
			i = 1
		}
		parts[i] = append(parts[i], text)
	}
	return strings.Join(parts[0], " ") + " | " + strings.Join(parts[1], " ")
}

func (s *script) wantWaits(want string) {
	s.t.Helper()
	if got := s.waits(); got != want {
		s.t.Errorf("the inbox is %q, want %q", got, want)
	}
}

func (s *script) splice(list ...InboxSpliced) *script {
	s.t.Helper()
	drafts := make([]Draft, len(list))
	for i, p := range list {
		drafts[i] = Draft{Data: p}
	}
	return s.add(drafts...)
}

func texts(msgs []llm.Message) string {
	var list []string
	for _, m := range msgs {
		list = append(list, m.PlainText())
	}
	return strings.Join(list, " ")
}

func TestIN(t *testing.T) {
	t.Parallel()
	t.Run("IN01 an invalid stored splice names its place", func(t *testing.T) {
		for _, p := range []InboxSpliced{
			{Target: NextTurn, Start: 3, Inserted: []llm.Message{userMsg("x")}}, {Target: NextTurn, Start: 1, RemovedCount: 2},
			{Target: NextTurn, Start: -1, RemovedCount: 1}, {Target: NextTurn, RemovedCount: -1}, {Target: NextTurn},
			{Target: "later", Inserted: []llm.Message{userMsg("x")}}, {Target: NextTurn, RemovedCount: 1, Outcome: "odd"},
			{Target: NextTurn, Inserted: []llm.Message{userMsg("x")}, Outcome: OutcomeCanceled}, {Target: NextTurn, RemovedCount: 1 << 62, Start: 1 << 62},
			queue(NextTurn, "t1"), queue(NextStep, "t1"), queue(NextStep, "a", "a"), {Target: NextStep, Inserted: []llm.Message{answerMsg("x")}},
		} {
			s := both(t)
			ev := Draft{Data: p}.event(2, 5000)
			if err := s.f.load(&ev); err == nil || !strings.Contains(err.Error(), "event 2") {
				t.Errorf("%+v: %v", p, err)
			}
		}
	})
	t.Run("IN03 what is gone cannot be replaced or removed", func(t *testing.T) {
		s := both(t)
		if _, ok, err := s.f.inbox.Replace("m-gone", userMsg("x")); ok || err != nil {
			t.Errorf("replaced: %v, %v", ok, err)
		}
		if _, ok := s.f.inbox.Remove("m-gone"); ok {
			t.Error("removed")
		}
		if _, ok := s.f.inbox.Move("m-gone", NextStep, 0); ok {
			t.Error("moved")
		}
	})
	t.Run("IN04 a replacement must not wait elsewhere", func(t *testing.T) {
		s := both(t)
		if _, _, err := s.f.inbox.Replace("m-t1", userMsg("s1")); err == nil {
			t.Error("the same id stands in both queues")
		}
		s.wantWaits("s1 s2 | t1 t2")
		edited := userMsg("t1")
		edited.Content[0].Text = "better"
		p, ok, err := s.f.inbox.Replace("m-t1", edited)
		if !ok || err != nil || p.Outcome != OutcomeCanceled {
			t.Fatalf("%+v, %v, %v", p, ok, err)
		}
		s.splice(p).wantWaits("s1 s2 | better t2")
	})
	t.Run("IN05 positions are those of a list splice", func(t *testing.T) {
		s := both(t)
		for _, c := range []struct{ start, remove, wantStart, wantRemove int }{
			{-1, 5, 1, 1}, {-9, 1, 0, 1}, {9, 1, 2, 0}, {1, -3, 1, 0}, {0, 9, 0, 2}, {0, 1 << 62, 0, 2},
		} {
			p, ok := s.f.inbox.Splice(NextTurn, c.start, c.remove, userMsg("x"))
			if !ok || p.Start != c.wantStart || p.RemovedCount != c.wantRemove || (p.Outcome != "") != (c.wantRemove > 0) {
				t.Errorf("%+v became %+v", c, p)
			}
			if err := s.f.inbox.check(&p); err != nil {
				t.Error(err)
			}
		}
		if _, ok := s.f.inbox.Splice(NextTurn, 5, 1); ok {
			t.Error("a splice of nothing would be logged")
		}
		for at, want := range map[int]int{0: 0, 1: 1, 7: 2, -1: 2} {
			if p := s.f.inbox.Insert(NextStep, at, userMsg("x")); p.Start != want || p.RemovedCount != 0 {
				t.Errorf("insert at %d became %+v", at, p)
			}
		}
	})
	t.Run("IN06 an id waits once", func(t *testing.T) {
		s := both(t)
		s.refuse("in the inbox already", Draft{Data: s.f.inbox.Insert(NextStep, -1, userMsg("t2"))})
	})
	t.Run("IN07 clear cancels both queues, next-step first", func(t *testing.T) {
		s := both(t).log(InboxHeld{[]string{"m-s2"}, true})
		list := s.f.inbox.Clear()
		want := []InboxSpliced{{Target: NextStep, RemovedCount: 2, Outcome: OutcomeCanceled}, {Target: NextTurn, RemovedCount: 2, Outcome: OutcomeCanceled}}
		if !reflect.DeepEqual(list, want) {
			t.Errorf("planned %+v", list)
		}
		s.splice(list...).wantWaits(" | ")
		if s.f.inbox.Clear() != nil {
			t.Error("an empty inbox has something to clear")
		}
	})
	t.Run("IN09 a turn gets next-step first and one prompt", func(t *testing.T) {
		s := both(t).log(TurnStart{1})
		batch, list := s.f.inbox.Claim(NextTurn)
		if got := texts(batch); got != "s1 s2 t1" {
			t.Errorf("claimed %q", got)
		}
		want := []InboxSpliced{{Target: NextStep, RemovedCount: 2}, {Target: NextTurn, RemovedCount: 1}}
		if !reflect.DeepEqual(list, want) {
			t.Errorf("planned %+v", list)
		}
		s.splice(list...).wantWaits(" | t2")
		if got := texts(s.f.inbox.Claimed()); got != "s1 s2 t1" {
			t.Errorf("claimed and not entered: %q", got)
		}
	})
	t.Run("IN10 a step leaves the prompts", func(t *testing.T) {
		s := both(t)
		batch, list := s.f.inbox.Claim(NextStep)
		if texts(batch) != "s1 s2" || len(list) != 1 {
			t.Errorf("claimed %q by %+v", texts(batch), list)
		}
		s.splice(list...).wantWaits(" | t1 t2")
		if batch, list := s.f.inbox.Claim(NextStep); batch != nil || list != nil || s.f.inbox.Ready(NextStep) {
			t.Error("an empty queue yields a claim")
		}
	})
	t.Run("IN12 a refused splice changes nothing", func(t *testing.T) {
		s := both(t)
		s.refuse("in the inbox already", Draft{Data: queue(NextTurn, "new")}, Draft{Data: queue(NextTurn, "s1")})
		s.wantWaits("s1 s2 | t1 t2")
	})
	t.Run("IN15 a source comes out as it went in", func(t *testing.T) {
		m := userMsg("x")
		m.Source = llm.Source{Kind: llm.FromPlugin, Raw: []byte(`{"kind":"plugin","plugin":""}`)}
		ev := Draft{Data: InboxSpliced{Target: NextStep, Inserted: []llm.Message{m}}}.event(0, 1)
		line, err := appendEvent(nil, ev)
		if err != nil || !strings.Contains(string(line), `"source":{"kind":"plugin","plugin":""}`) {
			t.Errorf("written as %s, %v", line, err)
		}
		s := newScript(t).add(Draft{Data: ev.Data})
		if got := s.f.inbox.Items()[0].Source; !reflect.DeepEqual(got, m.Source) {
			t.Errorf("waits as %+v", got)
		}
	})
	t.Run("IN16 what waits is there after a replay", func(t *testing.T) {
		s := both(t).log(InboxHeld{[]string{"m-s2", "m-gone"}, true})
		s.wantWaits("s1 (s2) | t1 t2")
		f := s.replay()
		if !reflect.DeepEqual(f.inbox.Items(), s.f.inbox.Items()) || f.state.Turn != 0 {
			t.Errorf("replayed: %+v", f.inbox.Items())
		}
	})
	t.Run("IN17 a fork starts with an empty inbox", func(t *testing.T) {
		parent := both(t)
		n := len(parent.evs)
		child := scriptFor(t, Header{ID: "c", ParentSession: "s", SeedLength: &n})
		child.add(Draft{Data: parent.evs[0].Data}, Draft{Data: parent.evs[1].Data})
		child.wantWaits(" | ")
		child.log(EndSeed{}, queue(NextTurn, "t1")).wantWaits(" | t1") // the same id is free again
		if f := child.replay(); f.inbox.Len() != 1 {
			t.Errorf("replayed: %+v", f.inbox.Items())
		}
	})
}

func TestINHeldMessagesAreSkipped(t *testing.T) {
	t.Parallel()
	s := newScript(t).log(queue(NextStep, "a", "b", "c", "d", "e"), queue(NextTurn, "t1", "t2"), InboxHeld{[]string{"m-b", "m-d", "m-t1"}, true}, TurnStart{1})
	batch, list := s.f.inbox.Claim(NextTurn)
	if got := texts(batch); got != "a c e t2" {
		t.Errorf("claimed %q", got)
	}
	s.splice(list...).wantWaits("(b) (d) | (t1)")
	if s.f.inbox.Ready(NextTurn) {
		t.Error("held messages are ready")
	}
	edited := userMsg("b2")
	p, _, err := s.f.inbox.Replace("m-b", edited)
	if err != nil {
		t.Fatal(err)
	}
	s.splice(p).wantWaits("(b2) (d) | (t1)") // an edited message is still held
	s.log(InboxHeld{[]string{"m-d"}, false}).wantWaits("(b2) d | (t1)")
	batch, _ = s.f.inbox.Claim(NextTurn)
	if texts(batch) != "d" {
		t.Errorf("claimed %q after the release", texts(batch))
	}
}

func TestINMove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id   string
		to   Target
		at   int
		want string
	}{
		{"t2", NextTurn, 0, "s1 s2 | t2 t1"}, {"t1", NextTurn, 9, "s1 s2 | t2 t1"}, {"t1", NextTurn, 0, "s1 s2 | t1 t2"},
		{"t2", NextStep, 1, "s1 t2 s2 | t1"}, {"s1", NextTurn, -1, "s2 | t1 t2 s1"},
	} {
		s := both(t)
		list, ok := s.f.inbox.Move("m-"+c.id, c.to, c.at)
		if !ok {
			t.Fatal("not found")
		}
		s.splice(list...).wantWaits(c.want)
		if len(s.f.state.Consumed.Dropped) != 0 {
			t.Error("a moved message counts as dropped")
		}
	}
}

func TestINRequeueRestoresTheQueues(t *testing.T) {
	t.Parallel()
	s := newScript(t).log(queue(NextStep, "a", "b", "c"), queue(NextTurn, "t1", "t2"), InboxHeld{[]string{"m-b"}, true}, TurnStart{1})
	batch, list := s.f.inbox.Claim(NextTurn)
	s.splice(list...)
	s.splice(s.f.inbox.Requeue(batch)...).wantWaits("a c (b) | t1 t2")
	if len(s.f.inbox.Claimed()) != 0 {
		t.Errorf("still claimed: %q", texts(s.f.inbox.Claimed()))
	}
	if msg, ok := s.f.inbox.Message("m-t1"); !ok || msg.PlainText() != "t1" {
		t.Errorf("message t1 is %+v, %v", msg, ok)
	}
	snapshot := s.f.inbox
	s.log(InboxHeld{[]string{"m-a"}, true})
	if snapshot.Items()[0].Held {
		t.Error("a copy of the inbox is held with it")
	}
	s.splice(s.f.inbox.Clear()...)
	if snapshot.Len() != 5 {
		t.Error("a copy of the inbox changed with it")
	}
}

// TestINConsumed: which turn answers for the latest input.
func TestINConsumed(t *testing.T) {
	t.Parallel()
	claim := InboxSpliced{Target: NextTurn, RemovedCount: 1}
	drop := InboxSpliced{Target: NextTurn, RemovedCount: 1, Outcome: OutcomeCanceled}
	end := func(turn int, k EndKind) TurnEnd {
		r := EndReason{Kind: k}
		switch k {
		case Aborted:
			r.Cause = &Cause{Kind: ByUser}
		case Failed:
			r.Failure = &llm.Failure{}
		}
		return TurnEnd{turn, r}
	}
	none := Consumed{}
	for name, c := range map[string]struct {
		log     []Payload
		turn    int
		end     EndKind
		dropped string
	}{
		"IN18 nothing consumed":                      {[]Payload{queue(NextTurn, "a"), Title{"x"}}, 0, "", ""},
		"IN19 a turn with a step":                    {[]Payload{queue(NextTurn, "a"), TurnStart{1}, claim, StepStart{1, 1}, StepEnd{1, 1}, end(1, Completed)}, 1, Completed, ""},
		"IN19 while it is open":                      {[]Payload{queue(NextTurn, "a"), TurnStart{1}, claim, StepStart{1, 1}}, 1, "", ""},
		"IN21 a claim that was blocked":              {[]Payload{queue(NextTurn, "a"), TurnStart{1}, claim, end(1, Blocked)}, 1, Blocked, ""},
		"IN21 a claim that failed":                   {[]Payload{queue(NextTurn, "a"), TurnStart{1}, claim, end(1, Failed)}, 1, Failed, ""},
		"IN21 a claim that was aborted":              {[]Payload{queue(NextTurn, "a"), TurnStart{1}, claim, end(1, Aborted)}, 1, Aborted, ""},
		"IN21 a claim that a crash cut":              {[]Payload{queue(NextTurn, "a"), TurnStart{1}, claim, end(1, Interrupted)}, 1, Interrupted, ""},
		"IN22 a turn without a claim":                {[]Payload{TurnStart{1}, end(1, Aborted)}, 0, "", ""},
		"IN23 a claim that was emptied":              {[]Payload{queue(NextTurn, "a"), TurnStart{1}, claim, end(1, Completed)}, 0, "", ""},
		"IN24 a claim outside of any turn":           {[]Payload{queue(NextTurn, "a"), claim, TurnStart{1}, end(1, Aborted)}, 0, "", ""},
		"IN25 dropped after the turn":                {[]Payload{queue(NextTurn, "a", "b"), TurnStart{1}, claim, StepStart{1, 1}, StepEnd{1, 1}, end(1, Completed), drop}, 1, Completed, "m-b"},
		"IN25 dropped while the turn ran":            {[]Payload{queue(NextTurn, "a", "b"), TurnStart{1}, claim, StepStart{1, 1}, drop, StepEnd{1, 1}, end(1, Aborted)}, 1, Aborted, "m-b"},
		"IN25 dropped between claim and abort":       {[]Payload{queue(NextTurn, "a", "b"), TurnStart{1}, claim, drop, end(1, Aborted)}, 1, Aborted, "m-b"},
		"IN25 a replacement is no drop":              {[]Payload{queue(NextTurn, "a"), InboxSpliced{Target: NextTurn, RemovedCount: 1, Inserted: []llm.Message{userMsg("b")}, Outcome: OutcomeCanceled}}, 0, "", ""},
		"IN27 a later turn absorbs earlier drops":    {[]Payload{queue(NextTurn, "a", "b"), drop, TurnStart{1}, claim, StepStart{1, 1}, StepEnd{1, 1}, end(1, Completed)}, 1, Completed, ""},
		"IN27 also one that was blocked at once":     {[]Payload{queue(NextTurn, "a", "b"), drop, TurnStart{1}, claim, end(1, Blocked)}, 1, Blocked, ""},
		"IN27 a turn that consumed nothing does not": {[]Payload{queue(NextTurn, "a"), drop, TurnStart{1}, end(1, Aborted)}, 0, "", "m-a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := newScript(t).log(c.log...).f.state.Consumed
			kind := EndKind("")
			if got.End != nil {
				kind = got.End.Kind
			}
			if got.Turn != c.turn || kind != c.end || strings.Join(got.Dropped, " ") != c.dropped {
				t.Errorf("consumed: turn %d %q dropped %v, want turn %d %q dropped %q", got.Turn, kind, got.Dropped, c.turn, c.end, c.dropped)
			}
		})
	}
	if got := newScript(t).f.state.Consumed; !reflect.DeepEqual(got, none) {
		t.Errorf("an empty log consumed %+v", got)
	}
}
