package session

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"dsh/internal/llm"
)

// Instruction is a file of instructions as a message gave it to the model. The source
// of the message lists them: what the model has been told is a fold over the log.
type Instruction struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256,omitempty"`  // of the text, lower-case hex
	Bytes   int    `json:"bytes,omitempty"`   // of the text
	Problem string `json:"problem,omitempty"` // why the model was only told its name
	Gone    bool   `json:"gone,omitempty"`    // it was there, and is not any more

	seq int // of the message; several may follow one another
}

// InstructionSource is the source of a message that holds such files. The form is
// snapshot, or notice for what changed since.
func InstructionSource(form string, files []Instruction) (llm.Source, error) {
	s := llm.Source{Kind: llm.FromPlugin, Plugin: "dsh", Form: form}
	raw, err := json.Marshal(struct {
		Kind   string        `json:"kind"`
		Plugin string        `json:"plugin"`
		Form   string        `json:"form"`
		Files  []Instruction `json:"instructions"`
	}{s.Kind, s.Plugin, s.Form, files})
	s.Raw = raw
	return s, err
}

// InstructionFiles are the files that a message holds; nil for other messages, and
// for what is no list of files.
func InstructionFiles(m *llm.Message) []Instruction {
	if m.Source.Kind != llm.FromPlugin || len(m.Source.Raw) == 0 {
		return nil
	}
	var source struct {
		Files []Instruction `json:"instructions"`
	}
	if json.Unmarshal(m.Source.Raw, &source) != nil {
		return nil
	}
	return source.Files
}

// Instructions are the files of which the model can read now what it was told, in the
// order in which they came. A list that was taken does not change.
type Instructions []Instruction

// Apply takes over an event: what it says about files, after what it hides.
func (list *Instructions) Apply(ev *Event) {
	p, ok := ev.Data.(UserMessage)
	if !ok {
		return
	}
	if ev.Replaces() && len(*list) > 0 {
		*list = list.Without(ev.Sources)
	}
	files := InstructionFiles(&p.Message)
	if len(files) == 0 {
		return
	}
	now := slices.Clone(*list)
	for _, f := range files {
		f.seq = ev.Seq
		now = slices.DeleteFunc(now, func(old Instruction) bool { return old.Path == f.Path })
		if !f.Gone {
			now = append(now, f)
		}
	}
	*list = now
}

// Without are the files but those whose message is among seqs.
func (list Instructions) Without(seqs []int) (rest Instructions) {
	for _, f := range list {
		if !slices.Contains(seqs, f.seq) {
			rest = append(rest, f)
		}
	}
	return rest
}

// visit notes where the files of a call lie.
func (s *State) visit(files []FileVersion) {
	s.Visits++
	for _, f := range files {
		dir := filepath.Dir(f.Path)
		if s.visited[dir] {
			continue
		}
		if s.visited == nil {
			s.visited = map[string]bool{}
		}
		s.visited[dir] = true
		s.Visited = append(s.Visited, dir)
	}
}
