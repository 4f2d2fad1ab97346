package session

import (
	"fmt"
	"testing"
)

// What one more event costs must not depend on how many there were.
func BenchmarkFoldStep(b *testing.B) {
	for _, size := range []int{10, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newScript(b)
			turn := 0
			one := func() {
				turn++
				s.evs = s.evs[:0] // not measured
				at := s.f.next
				s.next(TurnStart{turn}, queue(NextTurn, fmt.Sprint(turn)))
				_, splices := s.f.inbox.Claim(NextTurn)
				s.next(splices[0], StepStart{turn, 1})
				s.apply(user(fmt.Sprint(turn)))
				s.next(RequestSent{Turn: turn, Step: 1, Attempt: 1}, textDelta(turn, 1, "x"))
				s.apply(reply(turn, 1, answerMsg("x", "c"), at+6))
				s.next(call(turn, 1, "c"), allow("c"))
				s.apply(result(turn, 1, "c", "y", at+8))
				s.next(WorkspaceChanged{fmt.Sprint("/w/", turn), "c"}, StepEnd{turn, 1}, TurnEnd{turn, EndReason{Kind: Completed}})
				s.f.messages()
			}
			for range size {
				one()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				one()
			}
		})
	}
}

func (s *script) next(payloads ...Payload) {
	for _, p := range payloads {
		s.apply(Draft{Data: p})
	}
}

// apply checks and applies one event without keeping it.
func (s *script) apply(d Draft) {
	ev := d.event(s.f.next, 5000)
	if err := s.f.check(&ev); err != nil {
		s.t.Fatal(err)
	}
	s.f.apply(&ev)
}

func BenchmarkFoldChunk(b *testing.B) {
	s := newScript(b).begin(1, "hi")
	b.ReportAllocs()
	for b.Loop() {
		s.apply(Draft{Data: textDelta(1, 1, " word")})
	}
}
