package loop

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/prompt"
	"dsh/internal/session"
)

// A model that repeats itself is reminded at the counts of repeatReminders and
// stopped at repeatStop results in a row that were the same as well: then nothing
// the turn does can change what it does next.
var repeatReminders = []int{3, 5}

const repeatStop = 8

// repeats counts identical calls in a row: same tool, same arguments whatever the
// order of their keys. It is a fold; a message of the user starts it anew.
type repeats struct {
	key    string
	name   string
	args   string
	count  int
	result [sha256.Size]byte // of the last call
	alike  int               // how many of the last results were this one

	pending map[string]session.ToolCall // called, not answered
}

func (r *repeats) apply(ev *session.Event) {
	switch data := ev.Data.(type) {
	case session.UserMessage:
		if data.Source.Kind == llm.FromUser {
			*r = repeats{pending: r.pending}
		}
	case session.ToolCall:
		if r.pending == nil {
			r.pending = map[string]session.ToolCall{}
		}
		r.pending[data.CallID] = data
	case session.ToolResult:
		id := data.Message.Source.CallID
		if call, ok := r.pending[id]; ok {
			delete(r.pending, id)
			r.count1(call, data.Message)
		}
	}
}

func (r *repeats) count1(call session.ToolCall, m llm.Message) {
	key := call.Name + "\x00" + canonical(call.Arguments)
	digest := digestOf(m)
	if key != r.key {
		*r = repeats{key: key, name: call.Name, args: call.Arguments, pending: r.pending}
	}
	if digest != r.result {
		r.result, r.alike = digest, 0
	}
	r.count++
	r.alike++
}

// verdict is what the last result calls for: a note to the model, or the reason to
// end the turn.
func (r *repeats) verdict() (note, stop string) {
	if r.alike >= repeatStop {
		return "", fmt.Sprintf("guard: %s was called %d times in a row with the same arguments and the same result", r.name, r.alike)
	}
	if slices.Contains(repeatReminders, r.count) {
		return prompt.RepeatNotice(r.name, r.count, r.args), ""
	}
	return "", ""
}

// canonical is the arguments with sorted keys and every digit of their numbers; what
// is not JSON stands for itself.
func canonical(arguments string) string {
	if !json.Valid([]byte(arguments)) {
		return arguments
	}
	var v any
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return arguments
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		return arguments
	}
	return string(sorted)
}

// digestOf is over what the model reads of a result: not over ids.
func digestOf(m llm.Message) [sha256.Size]byte {
	h := sha256.New()
	for _, b := range m.Content {
		b.ToolCallID = ""
		text, err := json.Marshal(b)
		if err != nil {
			text = fmt.Append(nil, b)
		}
		h.Write(text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
