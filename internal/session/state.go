package session

import (
	"maps"
	"slices"

	"dsh/internal/llm"
)

// State is what the system knows, as a fold over the log: shown to people, and read
// by the loop for every decision that depends on what happened before.
type State struct {
	Events   int   // in the log
	LastTime int64 // of the last event

	Turn     int // the open turn, or the last one; 0 before the first
	TurnOpen bool
	Step     int // the open step, or the last one of the turn; 0 before the first
	StepOpen bool
	LastEnd  *EndReason // of the last turn that ended
	Consumed Consumed
	Title    string

	Header    *llm.Header // in force; nil before the first request
	HeaderSeq int
	Chosen    *llm.Header     // the last one of a model that the user chose, none that a turn fell back to
	Context   *RequestContext // nil: nothing known
	Preset    string          // policy's; "" when the log does not say
	Rules     []PolicyRule    // made in this session, in order

	Seen     map[string]FileVersion // by real path
	Changed  []string               // files that results changed, in the order of first change
	Edits    []string               // likewise, one for each change, in order
	Refused  []Refusal
	LastTool string
	Todos    []Todo     // the last list written, until the next turn starts
	Verify   *VerifyRun // the last one; nil before the first
	Jobs     []JobInfo
	Alone    int // turns since the last one with a message of the user
	Changes  int // of the workspace, by results and by calls that are not plainly read-only

	Instructions Instructions // that the model was told and can still read

	Spending                      // of all requests, those of summaries and those that failed included
	Models   map[string]llm.Usage // by model, as counted
	InUse    ContextUse
	Requests int
	Steps    int
	Calls    int

	ThisTurn TurnUse // of the open turn, or the last one
	Retries  int     // of the open step
	Attempts int     // requests of the open step

	Visited []string // directories of the files that calls showed or changed, real paths, in order
	Visits  int      // results of such calls

	changed map[string]bool   // Changed, to look up
	visited map[string]bool   // Visited, to look up
	allowed map[string]Effect // calls of the open step that may run
	effects map[string]Effect // likewise of the calls behind the active jobs, by job
	charges Charges

	falling bool // the next header is a fallback's
	fell    bool // the open turn is with a fallback
}

// Todo is one entry of the plan that the model keeps.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"` // one of the constants below when dsh wrote it
}

// The states of a Todo.
const (
	TodoPending   = "pending"
	TodoActive    = "in_progress"
	TodoCompleted = "completed"
)

// Mark is the sign of a Todo's status: [x], [~], [ ]; [?] for one of a foreign log.
func (t Todo) Mark() string {
	switch t.Status {
	case TodoCompleted:
		return "[x]"
	case TodoActive:
		return "[~]"
	case TodoPending:
		return "[ ]"
	}
	return "[?]"
}

// TurnUse is what a turn has used of its budgets.
type TurnUse struct {
	Started  int64 // when, milliseconds since 1970
	Requests int
	Steps    int
	Calls    int
	Spending
	Warned []TurnBudget // budgets that the model was told about, or that ended the turn
	Work   Work
}

func (s *State) clone() State {
	c := *s
	c.Seen, c.Models = maps.Clone(s.Seen), maps.Clone(s.Models)
	c.changed, c.visited, c.allowed, c.effects = nil, nil, nil, nil // a copy is only read
	c.Visited = slices.Clip(s.Visited)
	c.Rules, c.Refused = slices.Clip(s.Rules), slices.Clip(s.Refused)
	c.Changed, c.ThisTurn.Warned = slices.Clip(s.Changed), slices.Clip(s.ThisTurn.Warned)
	c.Jobs, c.Edits = slices.Clip(s.Jobs), slices.Clip(s.Edits)
	c.ThisTurn.Work.Changed, c.ThisTurn.Work.known = slices.Clip(s.ThisTurn.Work.Changed), nil
	c.Usage, c.ThisTurn.Usage = addUsage(llm.Usage{}, s.Usage), addUsage(llm.Usage{}, s.ThisTurn.Usage)
	return c
}

func (s *State) apply(ev *Event) {
	s.Events, s.LastTime = ev.Seq+1, ev.Time
	s.InUse.Apply(ev)
	s.Instructions.Apply(ev)
	if c, ok := s.charges.Apply(ev); ok {
		s.spend(c)
	}
	switch p := ev.Data.(type) {
	case TurnStart:
		s.Turn, s.TurnOpen, s.Step, s.StepOpen = p.Turn, true, 0, false
		s.Alone++
		s.Todos = nil
		work := s.ThisTurn.Work
		work.begin(s.LastEnd, ev.Time)
		s.ThisTurn = TurnUse{Started: ev.Time, Work: work}
		s.falling, s.fell = false, false
	case TurnEnd:
		s.endVerify()
		s.TurnOpen, s.StepOpen, s.LastEnd = false, false, &p.Reason
	case StepStart:
		s.Step, s.StepOpen, s.Retries, s.Attempts = p.Step, true, 0, 0
		clear(s.allowed)
		s.Steps++
		s.ThisTurn.Steps++
	case StepEnd:
		s.StepOpen = false
	case UserMessage:
		if p.Source.Kind == llm.FromUser {
			s.Alone = 0
		}
	case JobStarted, JobSettled:
		s.applyJob(ev)
	case RequestHeader:
		s.Header, s.HeaderSeq = &p.Header, ev.Seq
		s.fell, s.falling = s.falling, false
		if !s.fell {
			s.Chosen = s.Header
		}
	case RequestContext:
		s.Context = &p
	case RequestSent:
		s.Requests++
		s.ThisTurn.Requests++
		if p.Aside == nil {
			s.Attempts++
		}
		if !s.fell && !s.falling {
			s.Chosen = s.Header // also a fallback that was chosen since
		}
	case Retry:
		s.falling = s.falling || p.Mode == ModeFallback
	case RetryStarted:
		s.Retries++
	case ToolCall:
		s.Calls++
		s.ThisTurn.Calls++
		s.LastTool = p.Name
	case ToolResult:
		s.result(ev, &p)
	default:
		s.applySetting(ev.Data)
	}
}

func (s *State) applySetting(data Payload) {
	switch p := data.(type) {
	case Title:
		s.Title = p.Title
	case PolicyPreset:
		s.Preset = p.Preset
	case PolicyRule:
		s.Rules = append(s.Rules, p)
	case TurnBudget:
		s.ThisTurn.Warned = append(s.ThisTurn.Warned, p)
	case TodoWrite:
		s.Todos = p.Todos
	case PolicyDecision:
		if p.Decision == Allow && p.Effect != EffectRead {
			s.Changes++
		}
		s.decided(&p)
	case VerifyRun:
		s.Verify = &p
		s.ThisTurn.Work.checked(p.Verdict)
	case WorkspaceChanged:
		s.Changes++
		s.Edits = append(s.Edits, p.Path)
		s.ThisTurn.Work.changed(p.Path)
		if !s.changed[p.Path] {
			if s.changed == nil {
				s.changed = map[string]bool{}
			}
			s.changed[p.Path] = true
			s.Changed = append(s.Changed, p.Path)
		}
	}
}

// spend books a charge. What is spent between turns is no turn's.
func (s *State) spend(c Charge) {
	s.Add(c)
	if s.TurnOpen {
		s.ThisTurn.Add(c)
	}
	if c.Usage == nil {
		return
	}
	if s.Models == nil {
		s.Models = map[string]llm.Usage{}
	}
	s.Models[c.Model] = addUsage(s.Models[c.Model], *c.Usage)
}

// decided notes what an allowed call may do.
func (s *State) decided(p *PolicyDecision) {
	if p.Decision != Allow || p.Effect == EffectRead {
		return
	}
	if s.allowed == nil {
		s.allowed = map[string]Effect{}
	}
	s.allowed[p.CallID] = p.Effect
}

// endVerify: the turn ended while its check ran.
func (s *State) endVerify() {
	if s.Verify != nil && s.Verify.Verdict == VerifyRunning {
		lost := *s.Verify
		lost.Verdict = VerifyLost
		s.Verify = &lost
	}
}

func (s *State) result(ev *Event, p *ToolResult) {
	if effect, ok := s.allowed[p.Message.Source.CallID]; ok && !ev.Replaces() {
		code := ""
		if p.Error != nil {
			code = p.Error.Code
		}
		s.ThisTurn.Work.ran(effect, code)
	}
	meta, ok := DecodeMeta(p.Meta)
	if !ok || ev.Surface == nil || ev.Surface.Replace {
		return
	}
	if s.Seen == nil {
		s.Seen = map[string]FileVersion{}
	}
	for _, v := range meta.Seen {
		s.Seen[v.Path] = v
	}
	if len(meta.Seen) > 0 && p.Error == nil {
		s.visit(meta.Seen)
	}
	if meta.Refused != nil {
		s.Refused = append(s.Refused, *meta.Refused)
	}
}

// addUsage adds up; a bucket that nobody reported stays unreported.
func addUsage(a, b llm.Usage) llm.Usage {
	add := func(x, y *int) *int {
		if x == nil && y == nil {
			return nil
		}
		sum := 0
		for _, n := range []*int{x, y} {
			if n != nil {
				sum += *n
			}
		}
		return &sum
	}
	cost := a.CostNano
	if b.CostNano != nil {
		sum := *b.CostNano
		if cost != nil {
			sum += *cost
		}
		cost = &sum
	}
	return llm.Usage{
		CostNano:         cost,
		InputTokens:      a.InputTokens + b.InputTokens,
		OutputTokens:     a.OutputTokens + b.OutputTokens,
		CacheReadTokens:  add(a.CacheReadTokens, b.CacheReadTokens),
		CacheWriteTokens: add(a.CacheWriteTokens, b.CacheWriteTokens),
		ReasoningTokens:  add(a.ReasoningTokens, b.ReasoningTokens),
	}
}
