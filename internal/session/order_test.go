package session

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckNamesWhatIsOutOfOrder(t *testing.T) {
	t.Parallel()
	empty := func(s *script) {}
	turn := func(s *script) { s.log(TurnStart{1}) }
	step := func(s *script) { s.begin(1, "hi") }
	calls := func(s *script) { s.begin(1, "hi").add(reply(1, 1, answerMsg("", "c1", "c2"))) }
	taken := func(s *script) { calls(s); s.log(call(1, 1, "c1"), allow("c1"), call(1, 1, "c2")) }
	retried := func(s *script) {
		step(s)
		s.log(header("p", "m"), Retry{RetryID: "r", Turn: 1, Step: 1, Provider: "p", PolicyKey: "k", Retry: 1})
	}
	asked := func(s *script) { taken(s); s.log(ApprovalAsked{ID: "q", CallID: "c2"}) }
	sent := func(s *script) { step(s); s.log(RequestSent{Turn: 1, Step: 1, Attempt: 1}) }
	log := func(p Payload) Draft { return Draft{Data: p} }
	one, two := 1, 2
	aside := &Aside{Purpose: PurposeCompaction}
	bracket := func(s *script) { step(s); s.log(CompactionStart{CompactionID: "c", Turn: &one}) }
	between := func(s *script) { s.log(CompactionStart{CompactionID: "c"}) }

	for name, c := range map[string]struct {
		before func(*script)
		draft  Draft
		why    string
	}{
		"turn 2 first":                  {empty, log(TurnStart{2}), "turn 2 cannot start: no turn is open after 0 turns"},
		"a turn in a turn":              {turn, log(TurnStart{2}), "turn 2 cannot start"},
		"end without a start":           {empty, log(TurnEnd{0, EndReason{Kind: Completed}}), "turn 0 cannot end"},
		"end of another turn":           {turn, log(TurnEnd{2, EndReason{Kind: Completed}}), "turn 2 cannot end"},
		"end with an open step":         {step, log(TurnEnd{1, EndReason{Kind: Completed}}), "step 1.1 is open"},
		"step outside a turn":           {empty, log(StepStart{0, 1}), "step 0.1 cannot start"},
		"step of another turn":          {turn, log(StepStart{2, 1}), "step 2.1 cannot start"},
		"step left out":                 {turn, log(StepStart{1, 2}), "step 1.2 cannot start"},
		"step in a step":                {step, log(StepStart{1, 2}), "step 1.1 is open"},
		"step end without one":          {turn, log(StepEnd{1, 1}), "names step 1.1"},
		"chunk of another step":         {step, log(textDelta(1, 2, "x")), "names step 1.2"},
		"chunk outside a step":          {turn, log(textDelta(1, 1, "x")), "names step 1.1"},
		"answer of another step":        {step, reply(1, 2, answerMsg("x")), "names step 1.2"},
		"second answer":                 {calls, reply(1, 1, answerMsg("x")), "already"},
		"answer citing no chunk":        {step, reply(1, 1, answerMsg("x"), 0), "not the 0 chunks"},
		"answer leaving a chunk out":    {func(s *script) { step(s); s.log(textDelta(1, 1, "x")) }, reply(1, 1, answerMsg("x")), "not the 1 chunks"},
		"call ids twice":                {step, reply(1, 1, answerMsg("x", "c", "c")), "there twice"},
		"call of no message":            {calls, log(call(1, 1, "c9")), "not one of the step's calls"},
		"call twice":                    {taken, log(call(1, 1, "c1")), "taken up before"},
		"result of no call":             {taken, result(1, 1, "c9", "x", 4), "has no call"},
		"result without its call":       {calls, result(1, 1, "c1", "x", 3), "never taken up"},
		"result citing another":         {taken, result(1, 1, "c1", "x", 6), "does not cite"},
		"result out of order":           {taken, result(1, 1, "c2", "x", 6), "stands before"},
		"step end with open calls":      {taken, log(StepEnd{1, 1}), `call "c1" has no result`},
		"header outside a turn":         {empty, log(header("p", "m")), "inside a turn"},
		"first attempt is 2":            {step, log(RequestSent{Turn: 1, Step: 1, Attempt: 2}), "does not follow attempt 0"},
		"attempt 0":                     {step, log(RequestSent{Turn: 1, Step: 1}), "does not follow attempt 0"},
		"attempt left out":              {sent, log(RequestSent{Turn: 1, Step: 1, Attempt: 3}), "does not follow attempt 1"},
		"request outside a step":        {turn, log(RequestSent{Turn: 1, Step: 1, Attempt: 1}), "names step 1.1"},
		"retry outside a step":          {turn, log(Retry{RetryID: "r", Turn: 1, Step: 1, Retry: 1}), "names step 1.1"},
		"retry of another provider":     {func(s *script) { step(s); s.log(header("p", "m")) }, log(Retry{RetryID: "r", Turn: 1, Step: 1, Provider: "q", Retry: 1}), "provider"},
		"CO11 compaction in compaction": {bracket, log(CompactionStart{CompactionID: "d", Turn: &one}), `compaction "c" is open`},
		"compaction without an id":      {step, log(CompactionStart{Turn: &one}), "needs an id"},
		"compaction of another turn":    {step, log(CompactionStart{CompactionID: "c", Turn: &two}), "does not name the turn"},
		"compaction of no turn":         {step, log(CompactionStart{CompactionID: "c"}), "does not name the turn"},
		"summary of another":            {bracket, log(CompactionSummary{CompactionID: "d"}), `"c" is open`},
		"summary of none":               {step, log(CompactionSummary{CompactionID: "d"}), `"" is open`},
		"end of no compaction":          {step, log(CompactionEnd{CompactionID: "c"}), `"" is open`},
		"prune outside a turn":          {empty, log(CompactionPrune{}), "inside a turn"},
		"a turn in a compaction":        {between, log(TurnStart{1}), `compaction "c" is open`},
		"aside without its purpose":     {step, log(RequestSent{Turn: 1, Step: 1, Attempt: 1, Aside: aside}), "nothing is open"},
		"aside of another step":         {bracket, log(RequestSent{Turn: 1, Step: 2, Attempt: 1, Aside: aside}), "names step 1.2"},
		"first retry is 2":              {step, log(Retry{RetryID: "r", Turn: 1, Step: 1, Retry: 2}), "retry 1 is next"},
		"retry before the last ran":     {retried, log(Retry{RetryID: "r", Turn: 1, Step: 1, Provider: "p", PolicyKey: "k", Retry: 2}), "cannot be announced"},
		"retry with another id":         {retried, log(Retry{RetryID: "r2", Turn: 1, Step: 1, Provider: "p", PolicyKey: "k", Retry: 2}), "another id"},
		"id of another chain":           {retried, log(Retry{RetryID: "r", Turn: 1, Step: 1, Provider: "p", PolicyKey: "k2", Retry: 1}), "another chain"},
		"retry started unannounced":     {step, log(RetryStarted{"r", 1, 1, 1}), "not announced"},
		"another retry started":         {retried, log(RetryStarted{"r", 1, 1, 2}), "not announced"},
		"retry started twice":           {func(s *script) { retried(s); s.log(RetryStarted{"r", 1, 1, 1}) }, log(RetryStarted{"r", 1, 1, 1}), "started before"},
		"approval asked twice":          {asked, log(ApprovalAsked{ID: "q"}), "asked for already"},
		"decided and not asked":         {taken, log(ApprovalDecided{"q", "rejected"}), "not waiting"},
		"decided twice":                 {func(s *script) { asked(s); s.log(ApprovalDecided{"q", "rejected"}) }, log(ApprovalDecided{"q", allowedOnce}), "not waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			c.before(s)
			s.refuse(c.why, c.draft)
			evs := append(slices.Clone(s.evs), c.draft.event(s.seq(), s.now+9))
			err := Check(s.h, slices.Values(evs))
			if err == nil || !strings.Contains(err.Error(), c.why) || !strings.HasPrefix(err.Error(), "event ") {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

// Loading refuses less than appending: other writers keep another order.
func TestCheckLoadsWhatItCanDeriveFrom(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	for i, d := range []Draft{
		{Data: StepEnd{7, 7}}, {Data: call(3, 3, "x")}, result(1, 1, "x", "y", 1), {Data: TurnStart{4}}, {Data: TurnStart{9}},
		{Data: ApprovalDecided{"q", "rejected"}}, {Data: RetryStarted{"r", 1, 1, 1}}, {Data: TurnEnd{1, EndReason{Kind: Completed}}},
	} {
		ev := d.event(i, 5)
		if err := s.f.load(&ev); err != nil {
			t.Errorf("%s: %v", ev.Type, err)
		}
	}
	s.wantTexts("x=y")
}

func TestCheckUnresolvedCallsOfLogsWithoutDecisions(t *testing.T) {
	t.Parallel()
	newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("", "c1"))).log(call(1, 1, "c1")).finish(1, 1)
}

func TestCheckTimeNeverGoesBack(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi")
	s.evs[2].Time = s.evs[1].Time - 1
	if err := Check(s.h, slices.Values(s.evs)); err == nil || !strings.Contains(err.Error(), "event 2 (user/message): its time") {
		t.Errorf("Check says %v", err)
	}
}

// An empty answer is retried: its message anchors the usage and the step goes on.
func TestCheckAnEmptyAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi").log(RequestSent{Turn: 1, Step: 1, Attempt: 1}).add(reply(1, 1, answerMsg("")))
	s.log(Retry{RetryID: "r", Turn: 1, Step: 1, Retry: 1}, RetryStarted{"r", 1, 1, 1}, RequestSent{Turn: 1, Step: 1, Attempt: 2}, textDelta(1, 1, "x"))
	s.add(reply(1, 1, answerMsg("x"), 8)).finish(1, 1).wantTexts("hi", "x")
}

func TestCheckApprovalsOfADeadLifeAreOver(t *testing.T) {
	t.Parallel()
	s := newScript(t).log(ApprovalAsked{ID: "q"}, EndSeed{})
	s.refuse("not waiting", Draft{Data: ApprovalDecided{"q", allowedOnce}})
}
