package session

import (
	"encoding/json"
	"fmt"
	"testing"

	"dsh/internal/llm"
)

// instructed is a message that holds files.
func instructed(t *testing.T, files ...Instruction) Draft {
	t.Helper()
	source, err := InstructionSource("notice", files)
	if err != nil {
		t.Fatal(err)
	}
	m := userMsg("read this")
	m.Source = source
	return Visible(UserMessage{m})
}

// held is the state's list, a path and a digest each.
func (s *script) held() string {
	text := ""
	for _, f := range s.f.state.Instructions {
		text += fmt.Sprintf("%s=%s%s ", f.Path, f.SHA256, f.Problem)
	}
	return text
}

func TestStateHoldsTheInstructionsThatCanBeRead(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi")
	want := func(list string) {
		t.Helper()
		if got := s.held(); got != list {
			t.Errorf("held: %q, not %q", got, list)
		}
	}
	s.add(instructed(t, Instruction{Path: "/a", SHA256: "1", Bytes: 5}, Instruction{Path: "/b", SHA256: "2"}))
	first := s.seq() - 1
	taken := s.f.state.clone()
	want("/a=1 /b=2 ")
	s.add(instructed(t, Instruction{Path: "/b", Gone: true}, Instruction{Path: "/c", Problem: "odd"}))
	s.add(instructed(t, Instruction{Path: "/a", SHA256: "3"}))
	want("/c=odd /a=3 ")
	if len(taken.Instructions) != 2 || taken.Instructions[0].SHA256 != "1" {
		t.Errorf("a copy changed with the state: %+v", taken.Instructions)
	}

	// A message that stands for older ones hides what they said, and may say it anew.
	source, err := CompactionSource("k", []Instruction{{Path: "/d", SHA256: "4"}})
	if err != nil {
		t.Fatal(err)
	}
	m := userMsg("the sum")
	m.Source = source
	if !IsCompaction(&m) {
		t.Error("it is no compaction's message")
	}
	s.add(Draft{Data: UserMessage{m}, Sources: []int{first, first + 1},
		Surface: &SurfaceOp{Replace: true, Start: first, End: first + 1}})
	want("/a=3 /d=4 ")
}

func TestForeignSourcesHoldNoInstructions(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`{"kind":"user"}`, `{"kind":"user","instructions":[{"path":"/a"}]}`, `{"kind":"plugin","plugin":"x","instructions":7}`,
		`{"kind":"plugin","plugin":"x","instructions":[{"path":7}]}`, `{"kind":"plugin","plugin":"compact","compactionId":"k"}`,
	} {
		m := llm.Message{}
		if err := json.Unmarshal([]byte(source), &m.Source); err != nil {
			t.Fatal(err)
		}
		if files := InstructionFiles(&m); len(files) > 0 {
			t.Errorf("%s: %+v", source, files)
		}
	}
}

func TestStateKnowsWhatWasVisited(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi").log(header("p", "m"))
	s.add(reply(1, 1, answerMsg("", "c1", "c2", "c3")))
	meta := func(files ...FileVersion) json.RawMessage {
		raw, err := json.Marshal(ResultMeta{Seen: files})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for i, result := range []ToolResult{
		{Meta: meta(FileVersion{Path: "/w/a/x"})},
		{Meta: meta(FileVersion{Path: "/w/no/x", Absent: true}), Error: &ToolError{"E", "FS_NOT_FOUND"}},
		{Meta: meta(FileVersion{Path: "/w/a/y"}, FileVersion{Path: "/w/b/x"})},
	} {
		id := fmt.Sprint("c", i+1)
		s.log(call(1, 1, id), allow(id))
		result.Turn, result.Step, result.Message = 1, 1, resultMsg(id, "x")
		s.add(Visible(result, s.seq()-2))
	}
	if got := fmt.Sprint(s.f.state.Visited, s.f.state.Visits); got != "[/w/a /w/b] 2" {
		t.Error(got)
	}
}
