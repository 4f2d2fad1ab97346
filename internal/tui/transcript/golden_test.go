package transcript

import (
	"fmt"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// checkRows: what is true of all rows.
func checkRows(t *testing.T, rows []string, width int) {
	t.Helper()
	for _, row := range rows {
		if w := termtext.Width(row); w > width {
			t.Errorf("%d columns in a row of at most %d: %q", w, width, row)
		}
		bare := sgr.ReplaceAllString(row, "")
		if i := strings.IndexFunc(bare, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Errorf("a control character in %q", row)
		}
		if strings.HasSuffix(bare, " ") {
			t.Errorf("spaces at the end of %q", row)
		}
	}
}

func bash(command string) string {
	return args(session.Display{Kind: session.ShowCommand, Verb: "Bash", Target: command})
}

var edit = session.Display{Kind: session.ShowDiff, Verb: "Edit", Target: "internal/cart/expiry.go", Facts: []string{"+4 -2"},
	Diffs: []session.FileDiff{{Path: "internal/cart/expiry.go", Hunks: []session.Hunk{{OldStart: 36, NewStart: 36, Lines: []string{
		" // Expired reports whether the cart is past its deadline.",
		"-func (c *Cart) Expired() bool {",
		"+func (c *Cart) Expired(now time.Time) bool {",
		"-\tif time.Now().After(c.ExpiresAt) {",
		"+\tif !now.Before(c.ExpiresAt) {",
		" \t\treturn true",
		" \t}",
	}}, {OldStart: 80, NewStart: 80, Lines: []string{" }", "+", "+// a note that is long enough to need more than one row of a narrow terminal, and then some more of it"}}}}}}

func flaky() *script {
	read := call("c1", "read", args(session.Display{Kind: session.ShowText, Verb: "Read", Target: "internal/cart/expiry_test.go"}))
	grep := call("c2", "grep", args(session.Display{Kind: session.ShowMatches, Verb: "Grep", Target: `"time.Now" in internal/`}))
	test := call("c3", "bash", bash("go test ./internal/cart -run TestExpiry -count=50"))
	again := call("c4", "bash", bash("go test ./... -count=20"))
	change := call("c5", "edit", args(edit))
	steer := message("s1", "use a fake clock in the test, not sleep")
	s := &script{now: 1000}
	s.prompt("the checkout test is flaky: find out why and fix it")
	s.answer(thought("Where does the time come from? Let me look."), llm.TextBlock("I'll read the test first, then the code it covers."), read, grep, test)
	s.start(read).result(read, "", "package cart\n", &session.Display{Kind: session.ShowText, Verb: "Read", Target: "internal/cart/expiry_test.go", Facts: []string{"212 lines"}})
	s.start(grep).result(grep, "", "", &session.Display{Kind: session.ShowMatches, Verb: "Grep", Target: `"time.Now" in internal/`, Facts: []string{"7 matches in 3 files"},
		Text: "internal/cart/expiry.go:41   if time.Now().After(c.ExpiresAt) {\ninternal/cart/expiry.go:58   return time.Now().Add(ttl)\n" + strings.Repeat("internal/api/x.go:1 time.Now()\n", 5)})
	out := strings.Repeat("=== RUN   TestExpiry\n", 41) + "--- PASS: TestExpiry (0.01s)\n=== RUN   TestExpiry\n--- FAIL: TestExpiry (0.01s)\n    expiry_test.go:33: cart expired early: 0s left\nFAIL\nFAIL\tshop/internal/cart\t13.912s\n"
	s.start(test).result(test, "", out, &session.Display{Kind: session.ShowCommand, Verb: "Bash", Target: "go test ./internal/cart -run TestExpiry -count=50", Facts: []string{"exit 1", "0:14"}, Text: out,
		Command: &session.CommandBody{ExitCode: 1, Description: "Run the flaky test", Dir: "/home/me/src/shop", Artifact: "/home/me/out/call-7.txt", Truncated: true}})
	s.add(session.InboxSpliced{Target: session.NextStep, Inserted: []llm.Message{steer}})
	s.add(session.StepEnd{Turn: 1, Step: 1}, session.InboxSpliced{Target: session.NextStep, RemovedCount: 1}).begin(steer)
	s.answer(llm.TextBlock("The clock is read twice, so a cart made in the same tick can look expired."), change, again)
	s.start(change).add(session.PolicyDecision{CallID: "c5", Decision: session.Ask}, session.ApprovalAsked{ID: "q1", CallID: "c5"},
		session.ApprovalDecided{ID: "q1", Outcome: "allowed-once"}, session.PolicyDecision{CallID: "c5", Decision: session.Allow})
	s.result(change, "", "", &edit)
	return s.start(again)
}

func TestTMOCKAConversation(t *testing.T) {
	t.Parallel()
	s := flaky()
	p := project(s.events)
	o := Options{Now: s.now + 7000, Frame: 2, Output: "ok  \tshop/internal/web\t1.002s\nbuilding 10%\rbuilding 90%\r\nok  \tshop/internal/api\t2.113s\n"}
	screensOf(t, "conversation", p, o)
	o.Expanded = true
	screensOf(t, "conversation-expanded", p, o)
}

// states is one card in every state.
func states() *script {
	s := &script{now: 1000}
	s.prompt("go on")
	c := func(n int, command string) llm.Block { return call(fmt.Sprint("c", n), "bash", bash(command)) }
	calls := []llm.Block{c(0, "make lint"), c(1, "make deploy"), c(2, "go vet ./..."), c(3, "make test"), c(4, "git push --force origin main"), c(5, "rm -rf build"),
		c(6, "npm install left-pad"), c(7, "sleep 600"), c(8, "go test ./..."), c(9, "make migrate"), c(10, "make prod"), c(11, "ls"), c(12, "make bench"), c(13, "date")}
	s.answer(calls...)
	show := func(d session.Display, facts ...string) *session.Display {
		d.Kind, d.Verb, d.Facts, d.Command = session.ShowCommand, "Bash", facts, &session.CommandBody{}
		if strings.HasPrefix(facts[0], "exit") {
			d.Command.ExitCode = 2
		}
		return &d
	}
	s.start(calls[0]).result(calls[0], "", "ok", show(session.Display{Target: "make lint", Text: "ok\n"}, "3.1s"))
	s.start(calls[1]).result(calls[1], "", "boom", show(session.Display{Target: "make deploy", Text: "boom\n"}, "exit 2", "3.1s"))
	s.start(calls[2]).result(calls[2], "TIMEOUT", "Error: gone", show(session.Display{Target: "go vet ./..."}, "timed out", "2:00"))
	s.start(calls[3]).result(calls[3], "INTERNAL", "Error: the shell could not be started: no such file", nil)
	s.start(calls[4]).add(session.ApprovalAsked{ID: "q4", CallID: "c4"}, session.ApprovalDecided{ID: "q4", Outcome: "rejected"}).
		result(calls[4], "DENIED", "Error: the user said no to this call, and says: push to a branch instead", nil)
	s.start(calls[5]).add(session.ApprovalAsked{ID: "q5", CallID: "c5"}, session.ApprovalDecided{ID: "q5", Outcome: "rejected"}).
		result(calls[5], "DENIED", "Error: the user said no to this call. Do not repeat it unless asked to.", nil)
	s.start(calls[6]).result(calls[6], "DENIED", "Error: not allowed: a rule denies bash(npm install:*)", nil)
	s.start(calls[7]).result(calls[7], session.CodeAborted, "Error: the user interrupted on purpose while this call was running.", show(session.Display{Target: "sleep 600"}, "stopped", "0:41"))
	s.start(calls[8]).result(calls[8], session.CodeNotRun, "Error: did not run", nil)
	s.result(calls[9], session.CodeUnknown, "Error: unknown", nil)
	s.start(calls[10]).add(session.ApprovalAsked{ID: "q10", CallID: "c10"}, session.ApprovalDecided{ID: "q10", Outcome: "allowed-once"},
		session.PolicyDecision{CallID: "c10", Decision: session.Allow}, session.PolicyRule{Scope: "session", Pattern: "bash(make:*)", Decision: session.Allow}).
		result(calls[10], "", "", show(session.Display{Target: "make prod"}, "no output"))
	s.start(calls[11]).add(session.ApprovalAsked{ID: "q11", CallID: "c11", Reason: "asks"})
	return s.start(calls[12])
}

func TestTCARDEveryState(t *testing.T) {
	t.Parallel()
	s := states()
	o := Options{Now: s.now + 62_000, Frame: 2}
	p := project(s.events)
	want := []State{Done, Done, Failed, Failed, Refused, Refused, Refused, Stopped, NotRun, Unknown, Done, Asked, Running, Pending}
	for i, b := range p.Blocks()[1:] {
		if b.State != want[i] {
			t.Errorf("call %d is in state %d, want %d", i, b.State, want[i])
		}
	}
	screensOf(t, "states", p, o)
	o.Expanded = true
	screensOf(t, "states-expanded", p, o)
}

// kinds is one card of every kind of display.
func kinds() *script {
	lines := func(n int, format string) string {
		var sb strings.Builder
		for i := range n {
			fmt.Fprintf(&sb, format+"\n", i+1)
		}
		return sb.String()
	}
	var created []string
	for i := range 9 {
		created = append(created, fmt.Sprintf("+line %d", i+1))
	}
	long := session.FileDiff{Path: "docs/a.md", Hunks: []session.Hunk{{OldStart: 1, NewStart: 1, Lines: []string{"-old", "+new", " same"}}}}
	displays := []session.Display{
		{Kind: session.ShowText, Verb: "server.tool", Target: "key=value other=1", Text: lines(5, "answer %d")},
		{Kind: session.ShowText, Verb: "Read", Target: "internal/a/very/long/path/that/does/not/fit/into/narrow/terminals/read_me.go", Facts: []string{"lines 40-90 of 212", "shortened"}, Text: lines(3, "    %d\tx")},
		edit,
		{Kind: session.ShowDiff, Verb: "Write", Target: "docs/new.md", Facts: []string{"new, 9 lines"}, Diffs: []session.FileDiff{{Path: "docs/new.md", Created: true, Hunks: []session.Hunk{{NewStart: 1, Lines: created}}}}},
		{Kind: session.ShowDiff, Verb: "Edit", Target: "2 files", Diffs: []session.FileDiff{long, {Path: "docs/b.bin"}}},
		{Kind: session.ShowCommand, Verb: "Bash", Target: "cd /srv && for f in *.go; do\n  gofmt -l $f && echo \"checked $f with care, since it matters\"\ndone", Facts: []string{"0:12"}, Text: lines(12, "checked %d")},
		{Kind: session.ShowFiles, Verb: "Glob", Target: "**/*.go in internal", Facts: []string{"31 files"}, Text: lines(31, "internal/file%d.go")},
		{Kind: session.ShowMatches, Verb: "Grep", Target: `"p" in internal (*.go)`, Facts: []string{"2 matches in 1 file"}, Text: lines(2, "a.go:%d   p")},
		{Kind: session.ShowJob, Verb: "Job", Target: "bash-3", Facts: []string{"running", "12 new lines"}, Text: lines(12, "listening %d")},
		{Kind: session.ShowTodo, Verb: "Todo", Target: "2 of 4", Facts: []string{"done: find the cause", "now: fix expiry and its callers"}, Text: "[x] reproduce\n[x] find the cause\n[~] fix expiry and its callers, those in the tests too, and those that nobody has looked at for years\n[ ] test"},
		{Kind: session.ShowImage, Verb: "Read image", Target: "shot.png", Facts: []string{"1280x720", "84 KB"}},
	}
	s := &script{now: 1000}
	s.prompt("show me")
	var calls []llm.Block
	for i, d := range displays {
		calls = append(calls, call(fmt.Sprint("c", i), "tool", args(session.Display{Kind: d.Kind, Verb: d.Verb, Target: d.Target})))
	}
	s.answer(calls...)
	for i, c := range calls {
		s.start(c).result(c, "", "", &displays[i])
	}
	return s
}

func TestTCARDEveryKind(t *testing.T) {
	t.Parallel()
	p := project(kinds().events)
	screensOf(t, "kinds", p, Options{})
	screensOf(t, "kinds-expanded", p, Options{Expanded: true})
}

func notices() *script {
	s := &script{now: 1000}
	s.add(session.PolicyPreset{Preset: "ask"}, session.RequestHeader{Reason: "initial", Header: llm.Header{Config: llm.Config{Model: "deepseek-flash"}}})
	attempts := 5
	retry := func(n int, code llm.Code, status int) session.Retry {
		return session.Retry{RetryID: "r", Turn: s.turn, Step: s.step, Provider: "api.deepseek.com", Retry: n, MaxRetries: &attempts, DelayMs: 8000, Failure: llm.Failure{Code: code, Status: status, Message: "no"}}
	}
	s.prompt("hello")
	s.add(note("snapshot", "<environment>\nOS: linux\n</environment>"))
	s.add(instructions("snapshot", session.Instruction{Path: "/home/u/src/shop/AGENTS.md", SHA256: "1"}, session.Instruction{Path: "/home/u/src/shop/AGENTS.local.md", Problem: "it is not UTF-8 text"}))
	s.add(instructions("notice", session.Instruction{Path: "/home/u/src/shop/AGENTS.md", Gone: true}))
	s.add(retry(1, llm.CodeRateLimit, 429), session.RetryStarted{RetryID: "r", Turn: 1, Step: 1, Retry: 1})
	s.say(5, llm.TextBlock("Half an ans"))
	s.add(retry(2, llm.CodeStreamClosed, 0), session.RetryStarted{RetryID: "r", Turn: 1, Step: 1, Retry: 2})
	s.answer(llm.TextBlock("A whole answer."))
	s.add(session.CompactionStart{CompactionID: "k"}, session.CompactionSummary{CompactionID: "k", Summary: []llm.Block{llm.TextBlock("The user said hello.")}}, session.CompactionEnd{CompactionID: "k"})
	s.add(session.TurnBudget{Turn: 1, Kind: "steps", Limit: 200, Used: 160}, note("notice", "<notice>\nYou have now called grep 3 times in a row with the same arguments. If the result does not help, try something else.\n</notice>"))
	s.add(session.PolicyPreset{Preset: "full"}, session.PolicyRule{Scope: "session", Pattern: "bash(go test:*)", Decision: session.Allow})
	s.add(session.RequestHeader{Reason: "change", Header: llm.Header{Config: llm.Config{Model: "deepseek-v4-pro"}}}, session.Raw{T: "job/started"})
	s.end(completed)
	for _, r := range []session.EndReason{
		{Kind: session.Aborted, Cause: &session.Cause{Kind: session.ByUser}},
		{Kind: session.Aborted, Cause: &session.Cause{Kind: session.Disposed}},
		{Kind: session.Aborted, Cause: &session.Cause{Kind: session.ByHook, Reason: "budget: steps 200"}},
		{Kind: session.Blocked, Cause: &session.Cause{Reason: "the prompt contains your API key"}},
		{Kind: session.MaxTokens}, {Kind: session.Interrupted},
		{Kind: session.Failed, Failure: &llm.Failure{Code: llm.CodeAuth, Status: 401}},
		{Kind: session.Failed, Failure: &llm.Failure{Code: llm.CodeServer, Status: 503}},
		{Kind: session.Failed, Failure: &llm.Failure{Code: "UNVERIFIED", Message: "go test ./... still fails after 3 attempts"}},
	} {
		s.prompt("and then").say(5, llm.TextBlock("gone"))
		s.wait(48_000).end(r)
	}
	s.prompt("wait").add(retry(1, llm.CodeServer, 503))
	return s
}

func TestNoticesAndEnds(t *testing.T) {
	t.Parallel()
	s := notices()
	p := project(s.events)
	screensOf(t, "notices", p, Options{Now: s.now + 3000})
	screensOf(t, "notices-expanded", p, Options{Now: s.now + 9000, Expanded: true})
}

func TestSteeredQueuedAndHeldMessages(t *testing.T) {
	t.Parallel()
	a, b, c := message("a", "first this\nand that"), message("b", "then update CHANGELOG.md"), message("c", "use a fake clock")
	s := &script{now: 1000}
	s.prompt("go").answer(llm.TextBlock("On it."))
	s.add(session.InboxSpliced{Target: session.NextTurn, Inserted: []llm.Message{a, b}}, session.InboxSpliced{Target: session.NextStep, Inserted: []llm.Message{c}})
	if q := project(s.events).Queue(); len(q) != 3 || q[0].ID != "c" || q[2].Text != "then update CHANGELOG.md" {
		t.Errorf("the queue is %v", q)
	}
	s.add(session.StepEnd{Turn: 1, Step: 1}, session.InboxSpliced{Target: session.NextStep, RemovedCount: 1}).begin(c)
	s.answer(llm.TextBlock("Fake it is.")).end(completed)
	s.add(session.InboxHeld{IDs: []string{"b"}, Held: true})
	s.turn, s.step = 2, 0
	s.add(session.TurnStart{Turn: 2}, session.InboxSpliced{Target: session.NextTurn, RemovedCount: 1}).begin(a).answer(llm.TextBlock("Both.")).end(completed)
	if q := project(s.events).Queue(); len(q) != 1 || !q[0].Held {
		t.Errorf("the queue is %v", q)
	}
	s.add(session.InboxHeld{IDs: []string{"b"}})
	s.turn, s.step = 3, 0
	s.add(session.TurnStart{Turn: 3}, session.InboxSpliced{Target: session.NextTurn, RemovedCount: 1}).begin(b)
	p := project(s.events)
	var fates []Fate
	for _, b := range p.Blocks() {
		if b.Kind == User {
			fates = append(fates, b.Fate)
		}
	}
	if fmt.Sprint(fates) != fmt.Sprint([]Fate{Prompted, Steered, Queued, Held}) {
		t.Errorf("fates: %v", fates)
	}
	screensOf(t, "fates", p, Options{})
}

func TestTWIDTHForeignWriting(t *testing.T) {
	t.Parallel()
	text := "你好|👨‍👩‍👧|🎙️|❤️|🇩🇪|🫠|é|ｱ|한글|ไทย|عربي"
	s := &script{now: 1000}
	s.prompt(text + " " + strings.Repeat("这个结账测试不稳定，请找出原因并修好它。", 4))
	path := "内部/购物车/非常长的目录名称/还有一个非常长的目录名称/过期_测试.go"
	c := call("c1", "read", args(session.Display{Verb: "Read", Target: path}))
	d := call("c2", "edit", args(session.Display{Verb: "Edit", Target: path}))
	s.answer(thought(text), llm.TextBlock("# "+text+"\n\n"+strings.Repeat("時計は二度読まれるため、同じ時刻に作られたカートは期限切れに見える。", 3)), c, d)
	s.start(c).result(c, "", text, &session.Display{Kind: session.ShowMatches, Verb: "Read", Target: path, Facts: []string{"212 行", text}, Text: strings.Repeat(text, 5)})
	s.start(d).result(d, "", text, &session.Display{Kind: session.ShowDiff, Verb: "Edit", Target: path, Diffs: []session.FileDiff{{Hunks: []session.Hunk{{OldStart: 9, NewStart: 9,
		Lines: []string{"-\t期限切れかどうかを返す。今の時刻を使う。" + text, "+\t期限切れかどうかを返す。渡された時刻を使う。" + text}}}}}})
	p := project(s.events)
	screensOf(t, "writing", p, Options{})
	for width := 2; width < 60; width++ {
		checkRows(t, picture(p, Options{Width: width, Expanded: width%2 == 0}), width)
	}
}

const hostile = "a\x1b]0;owned\a\x1b[2Jb\x1b[31mred\x1b[0m\rover\x00\x9b31m\u202egnp.exe\u200b\xff\ttab\u2028line\x1b"

func TestTUI02NothingIsObeyedByTheTerminal(t *testing.T) {
	t.Parallel()
	s := &script{now: 1000}
	s.prompt(hostile)
	c := call("c1", hostile, args(session.Display{Verb: hostile, Target: hostile}))
	s.answer(thought(hostile), llm.TextBlock(hostile), c)
	s.start(c).result(c, "", hostile, &session.Display{Kind: session.ShowCommand, Verb: hostile, Target: hostile + "\n" + hostile, Facts: []string{hostile}, Text: hostile + "\n" + hostile})
	d := call("c2", "edit", "{")
	s.add(session.ToolCall{CallID: "c2", Name: hostile, Arguments: hostile}).result(d, hostile, hostile, &session.Display{Kind: session.ShowDiff, Target: hostile,
		Diffs: []session.FileDiff{{Path: hostile, Hunks: []session.Hunk{{Lines: []string{"-" + hostile, "+" + hostile + "x", hostile, ""}}}}, {Path: hostile}}})
	s.add(session.Raw{T: hostile}, note("notice", hostile), session.PolicyRule{Pattern: hostile}, session.RequestHeader{Header: llm.Header{Config: llm.Config{Model: "m"}}},
		session.RequestHeader{Header: llm.Header{Config: llm.Config{Model: hostile}}})
	s.add(session.ToolCall{CallID: "c3", Name: hostile, Arguments: hostile})
	p := project(s.events)
	screensOf(t, "hostile", p, Options{Output: hostile})
	screensOf(t, "hostile-expanded", p, Options{Expanded: true, Output: hostile})
	s.end(session.EndReason{Kind: session.Failed, Failure: &llm.Failure{Message: hostile}})
	for width := 1; width < 100; width += 3 {
		checkRows(t, picture(project(s.events), Options{Width: width, Expanded: true}), width)
	}
}

// TestAStoppedCallShowsItsOutput, and the words for the model only to who asks for all.
func TestAStoppedCallShowsItsOutput(t *testing.T) {
	t.Parallel()
	s := &script{now: 1000}
	c := call("c1", "bash", args(session.Display{Kind: session.ShowCommand, Verb: "Run", Target: "make"}))
	text := "Error: the user interrupted on purpose while this call was running.\nline 1\n"
	s.prompt("go").begin().answer(c).start(c).result(c, session.CodeAborted, text, &session.Display{Kind: session.ShowCommand, Verb: "Run", Target: "make", Text: text})
	p := project(s.events)
	if got := plain(picture(p, Options{Width: 80})); !strings.Contains(got, "stopped") || !strings.Contains(got, "line 1") || strings.Contains(got, "on purpose") {
		t.Errorf("collapsed:\n%s", got)
	}
	if got := plain(picture(p, Options{Width: 80, Expanded: true})); !strings.Contains(got, "on purpose") {
		t.Errorf("expanded:\n%s", got)
	}
}
