package loop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// fallbacks gives the agent other models, each of a provider of its own, played by
// the same plays.
func fallbacks(m *model, providers ...string) option {
	return func(o *Options) {
		for _, p := range providers {
			o.Fallback = append(o.Fallback, Route{Model: m, Config: llm.Config{Provider: p, Model: "m"}})
		}
	}
}

// falling is an agent whose chosen model is of the provider "test".
func falling(t *testing.T, plays []play, providers ...string) *fixture {
	t.Helper()
	m := &model{plays: plays}
	f := newFixture(t, nil, func(o *Options) { o.Route.Model = m }, fallbacks(m, providers...))
	f.model = m
	return f
}

// asked is who was asked, request by request.
func (f *fixture) asked() string {
	var list []string
	for i := range f.model.count() {
		list = append(list, f.model.request(i).Header.Config.Provider)
	}
	return strings.Join(list, " ")
}

func TestFallbackAfterTheRetriesAreSpent(t *testing.T) {
	inTime(t, func(t *testing.T) {
		plays := append(repeated(6, broken(llm.CodeServer)), broken(llm.CodeServer), call("probe", "{}"), say("ok"), say("again"))
		f := falling(t, plays, "other")
		f.prompt("go")
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
		expect(t, "the other model has retries of its own, and the turn stays with it", f.asked(),
			strings.Repeat("test ", 6)+"other other other")
		var reasons []string
		for _, h := range of[session.RequestHeader](f) {
			reasons = append(reasons, h.Header.Config.Provider+" "+h.Reason)
		}
		expect(t, "headers", strings.Join(reasons, ", "), "test initial, other change")
		f.prompt("next")
		expect(t, "the next turn begins with the chosen one", f.asked(), strings.Repeat("test ", 6)+"other other other test")
	})
}

func TestFallbackOnceAStep(t *testing.T) {
	inTime(t, func(t *testing.T) {
		quota := broken(llm.CodeQuota)
		f := falling(t, []play{quota, call("probe", "{}"), quota, say("ok")}, "second", "third")
		f.prompt("go")
		expect(t, "each step may fall once", f.asked(), "test second second third")
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)

		f = falling(t, []play{quota, quota, say("never")}, "second", "third")
		f.prompt("go")
		expect(t, "not twice in a step", f.asked(), "test second")
		expect(t, "the turn", f.lastEnd().Failure.Code, llm.CodeQuota)
	})
}

func TestFallbackTellsTheLogWhy(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := falling(t, []play{fail(llm.Failure{Code: llm.CodeQuota, Message: "no balance", Status: 402}), say("ok")}, "other")
		f.prompt("go")
		r := of[session.Retry](f)[0]
		expect(t, "the retry", fmt.Sprint(r.Mode, " ", r.Provider, " ", r.Failure.Message, " ", r.DelayMs), "fallback test no balance 0")
		expect(t, "attempts", f.attempts(), "sent1 retry1:0ms started1 sent2 answer")
	})
}

func TestFallbackOnlyWhereAnotherModelMayDoBetter(t *testing.T) {
	inTime(t, func(t *testing.T) {
		for code, want := range map[llm.Code]string{
			llm.CodeAuth: "test", llm.CodeContextOverflow: "test", llm.CodeContentFilter: "test",
			llm.CodeInvalidRequest: "test", llm.CodeConfig: "test", llm.CodeQuota: "test other",
		} {
			f := falling(t, []play{broken(code), say("ok")}, "other")
			f.prompt("go")
			expect(t, string(code), f.asked(), want)
		}
		f := falling(t, []play{fail(llm.Failure{Code: llm.CodeServer, Message: "no", Final: true}), say("ok")}, "other")
		f.prompt("go")
		expect(t, "final for this provider", f.asked(), "test other")
	})
}

// A model that the user names while the failing request runs is tried first.
func TestFallbackYieldsToTheUsersChoice(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var f *fixture
		f = falling(t, []play{func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool) {
			f.SetRoute(Route{Model: f.model, Config: llm.Config{Provider: "mine", Model: "m"}})
			broken(llm.CodeQuota)(ctx, r, yield)
		}, say("ok")}, "other")
		f.prompt("go")
		expect(t, "asked", f.asked(), "test mine")
	})
}
