package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/llm"
)

func nobody(name string) string { return "" }

func TestDoctorGivesUpOnWhatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		start := time.Now()
		p := &patient{s: streams{getenv: nobody}}
		found := p.examine(t.Context(), []check{
			{name: "deaf", run: func(context.Context, *patient) finding { <-over; return finding{} }},
			{name: "heeds", wait: time.Second, run: func(ctx context.Context, _ *patient) finding {
				<-ctx.Done()
				return finding{Status: worry, What: "it waited"}
			}},
			{name: "fast", run: func(context.Context, *patient) finding { return finding{Status: healthy, What: "fine"} }},
		})
		if took := time.Since(start); took != checkWait+graceWait {
			t.Errorf("took %s: the checks wait for each other", took)
		}
		want := []finding{
			{"deaf", broken, "no answer within 10s", "look at what it waits for: a network disk, a program, a server"},
			{"heeds", worry, "it waited", ""},
			{"fast", healthy, "fine", ""},
		}
		for i, f := range found {
			if f != want[i] {
				t.Errorf("%d is %+v, want %+v", i, f, want[i])
			}
		}
	})
}

func TestDoctorReportIsPlainAndSafe(t *testing.T) {
	t.Parallel()
	got := report([]finding{
		{"a", healthy, "fine", ""},
		{"b", worry, "odd \x1b[2J\nname", "look"},
		{"c", broken, "gone", "bring it back"},
	})
	lines := strings.Split(got, "\n")
	if len(lines) != 7 || strings.Contains(got, "\x1b") || lines[0] != "ok    a         fine" || lines[4] != "                -> bring it back" || lines[5] != "1 failed, 1 to look at." {
		t.Errorf("%q", got)
	}
	if got := report([]finding{{"a", healthy, "fine", ""}}); !strings.HasSuffix(got, "Everything is well.\n") {
		t.Errorf("%q", got)
	}
}

// What the environment holds under a name that says so is hidden wherever it turns up.
func TestDoctorHidesSecrets(t *testing.T) {
	t.Setenv("SOME_SERVICE_TOKEN", "tok-SECRET-1")
	t.Setenv("SHORT_KEY", "ab")
	p := &patient{s: streams{getenv: func(name string) string { return map[string]string{"HOME": "/home/me"}[name] }}}
	found := p.examine(t.Context(), []check{{name: "a", run: func(context.Context, *patient) finding {
		return finding{Status: worry, What: "abc /home/me/x says tok-SECRET-1", Do: "use tok-SECRET-1 in /home/mean"}
	}}})
	if want := (finding{"a", worry, "abc ~/x says [hidden]", "use [hidden] in /home/mean"}); found[0] != want {
		t.Errorf("%+v", found[0])
	}
}

func TestDoctorSaysWhatARefusalMeans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failure llm.Failure
		status  health
		do      string
	}{
		{llm.Failure{Code: llm.CodeAuth, Status: 401, Message: "refused the key"}, broken, "dsh login deepseek"},
		{llm.Failure{Code: llm.CodeQuota, Status: 402, Message: "nothing left"}, worry, "top up"},
		{llm.Failure{Code: llm.CodeConfig, Status: 404, Message: "no such path"}, worry, "/v1"},
		{llm.Failure{Code: llm.CodeServer, Status: 503, Message: "busy"}, broken, "wait"},
		{llm.Failure{Code: llm.CodeTransport, Message: "no route"}, broken, "network"},
		{llm.Failure{Code: llm.CodeAborted, Message: "cancelled"}, broken, "try again"},
		{llm.Failure{Code: llm.CodeMalformed, Message: "odd"}, broken, "dsh run"},
	} {
		home := t.TempDir()
		p := &patient{settings: reload(t, home)}
		name, u, model, err := p.target()
		if err != nil {
			t.Fatal(err)
		}
		v := &visit{p: p, name: name, url: u, model: model, passed: []string{"TCP 1 ms"}}
		f := v.refused(&c.failure)
		if f.Status != c.status || !strings.Contains(f.Do, c.do) || !strings.HasPrefix(f.What, "https://api.deepseek.com: TCP 1 ms, GET /models") {
			t.Errorf("%s: %+v", c.failure.Code, f)
		}
	}
}
