package loop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// driverState is what the driver remembers between steps. All of it but the flags of
// this process is a fold over events: the same log gives the same decisions.
type driverState struct {
	a *Agent

	environmentID   string // of the last block this process made
	environmentSent bool   // by this process
	headerSent      bool   // by this process

	open    int         // the turn that has no end yet, 0 none
	frozen  *llm.Header // the last logged header: its prompt and tools stay in force
	context *session.RequestContext
	calls   map[string]int // ids of all calls, so that none is used twice; see use
	preset  string         // last logged
	rules   []policy.Rule  // made during the session
	repeat  repeats
	retries retries
	spent   spent
	meter   meter
	said    []said // the user's last messages, the newest last

	overflowed bool // the last request was too long, and room was made for it
}

func (d *driverState) init(a *Agent) {
	d.a = a
	d.calls = map[string]int{}
	reader := a.log.Reader(0)
	defer reader.Close()
	for _, ev := range reader.Next() {
		d.apply(&ev)
	}
	d.headerSent = false // not by this process
	if chosen := a.log.State().Chosen; chosen != nil {
		a.route = keepEffort(chosen, a.route)
	}
	if h := d.frozen; h != nil {
		if !sameTools(h.Tools, a.o.Tools.Names()) {
			d.frozen = nil // made with other tools: the session goes on with ours
		}
	}
}

// apply is the fold. It is called with every event the driver wrote, and with the
// whole log at the start.
func (d *driverState) apply(ev *session.Event) {
	switch data := ev.Data.(type) {
	case session.TurnStart:
		d.open = data.Turn
	case session.TurnEnd:
		d.open = 0
	case session.RequestHeader:
		d.frozen, d.headerSent = &data.Header, true
	case session.StepStart:
		d.overflowed = false
	case session.UserMessage:
		d.environmentSent = d.environmentSent || data.ID == d.environmentID
		d.listen(ev.Seq, &data.Message)
	case session.RequestContext:
		d.context = &data
	case session.AssistantMessage:
		for _, call := range data.Message.Calls() {
			d.use(call.ID)
		}
	case session.PolicyPreset:
		d.preset = data.Preset
	case session.PolicyRule:
		if rule, err := policy.ParseRule(data.Pattern, data.Decision, "session"); err == nil {
			d.rules = append(d.rules, rule)
		}
	}
	d.repeat.apply(ev)
	d.retries.apply(ev)
	d.spent.apply(ev)
	d.meter.apply(ev)
}

// listen keeps the user's last words: a summary must not be all that is left of them.
func (d *driverState) listen(seq int, m *llm.Message) {
	if m.Source.Kind != llm.FromUser {
		return
	}
	if len(d.said) == saidCount {
		d.said = slices.Delete(d.said, 0, 1)
	}
	d.said = append(d.said, said{seq, m.PlainText()})
}

// header is that of the next request. Prompt and tools are frozen: what the log
// says holds until the tools change.
func (d *driverState) header(route Route) llm.Header {
	h := llm.Header{Config: route.Config, AdapterDefaults: route.Defaults}
	if d.frozen != nil {
		h.System, h.Tools = d.frozen.System, d.frozen.Tools
		return h
	}
	h.System, h.Tools = d.a.o.System, d.a.o.Tools.Schemas()
	return h
}

// keepEffort carries an effort that the user chose for exactly this route over a
// resume that does not name one. What the user chooses later is not touched.
func keepEffort(old *llm.Header, r Route) Route {
	const field = "reasoningEffort"
	same := old.Config.Provider == r.Config.Provider && old.Config.Model == r.Config.Model
	chosen := !slices.Contains(old.AdapterDefaults, field) && old.Config.ReasoningEffort != ""
	if same && chosen && slices.Contains(r.Defaults, field) {
		r.Config.ReasoningEffort = old.Config.ReasoningEffort
		r.Defaults = slices.DeleteFunc(slices.Clone(r.Defaults), func(s string) bool { return s == field })
	}
	return r
}

// headerReason is why the header must be logged now; "" when it stands already.
func (d *driverState) headerReason(h llm.Header) string {
	logged, ok := d.a.log.RequestHeader()
	switch {
	case !ok:
		return headerInitial
	case !d.headerSent:
		return headerResume
	case !logged.Equal(h):
		return headerChange
	}
	return ""
}

func (d *driverState) knowsContext(c session.RequestContext) bool {
	if d.context == nil || d.context.Provider != c.Provider || d.context.Model != c.Model {
		return false
	}
	a, b := d.context.ContextWindow, c.ContextWindow
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func (d *driverState) newCallID() string {
	return d.uniqueCallID(fmt.Sprintf("call_%d", len(d.calls)+1))
}

// uniqueCallID keeps an id unless the session has used it.
func (d *driverState) uniqueCallID(id string) string {
	if d.calls[id] == 0 {
		return id
	}
	for n := d.calls[id]; ; n++ {
		if next := fmt.Sprintf("%s-%d", id, n); d.calls[next] == 0 {
			return next
		}
	}
}

// use notes that an id is taken. The number beside it is the first suffix to try when
// it comes again: a provider that counts from zero in every answer would make each
// search longer than the last.
func (d *driverState) use(id string) {
	d.calls[id] = max(d.calls[id], 2)
	i := strings.LastIndexByte(id, '-')
	if i < 0 || d.calls[id[:i]] == 0 {
		return
	}
	if n, err := strconv.Atoi(id[i+1:]); err == nil {
		d.calls[id[:i]] = max(d.calls[id[:i]], n+1)
	}
}

func sameTools(schemas []llm.ToolSchema, names []string) bool {
	return slices.EqualFunc(schemas, names, func(s llm.ToolSchema, name string) bool { return s.Name == name })
}

// presetNames are the original's words for the presets.
var presetNames = map[policy.Preset]string{policy.PresetReadOnly: "read-only", policy.PresetAsk: "workspace-write",
	policy.PresetWorkspace: "workspace-write", policy.PresetFull: "danger-full-access"}

// logPreset records the preset of now, in our words and in the original's, unless
// the log says so already.
func (a *Agent) logPreset() error {
	preset := a.currentPreset()
	if a.d.preset == string(preset) {
		return nil
	}
	approval := "never"
	if a.o.Asks && preset != policy.PresetFull {
		approval = "ask"
	}
	return a.append(
		session.Draft{Data: session.PolicyPreset{Preset: string(preset)}},
		session.Draft{Data: session.PermissionPreset{Preset: presetNames[preset]}},
		session.Draft{Data: session.ApprovalPolicy{Policy: approval}})
}
