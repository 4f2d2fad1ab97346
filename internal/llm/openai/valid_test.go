package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"dsh/internal/llm"
)

// The checker shares nothing with the normaliser: it reads the body as a strict
// endpoint would.

type checkedBody struct {
	Model    string           `json:"model"`
	Messages []checkedMessage `json:"messages"`
	Tools    []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type checkedMessage struct {
	Role       string      `json:"role"`
	Content    *string     `json:"content"`
	ToolCallID *string     `json:"tool_call_id"`
	Reasoning  *string     `json:"reasoning_content"`
	ToolCalls  []checkCall `json:"tool_calls"`
}

type checkCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

var (
	checkName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	checkID   = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,40}$`)
)

// checkBody is what a strict endpoint refuses, "" if nothing.
func checkBody(body []byte, thinking bool) string {
	if !utf8.Valid(body) {
		return "V29 the body is no UTF-8"
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	var b checkedBody
	if err := dec.Decode(&b); err != nil {
		return "the body is no JSON: " + err.Error()
	}
	if dec.More() {
		return "something follows the body"
	}
	if len(b.Messages) == 0 {
		return "no messages"
	}
	ids := map[string]bool{}
	for i := 0; i < len(b.Messages); i++ {
		m := b.Messages[i]
		if why := checkMessage(i, m, thinking); why != "" {
			return fmt.Sprintf("message %d: %s", i, why)
		}
		for j, c := range m.ToolCalls {
			if ids[c.ID] {
				return fmt.Sprintf("V05 message %d: id %q twice", i, c.ID)
			}
			ids[c.ID] = true
			if next := i + 1 + j; next >= len(b.Messages) || b.Messages[next].Role != "tool" || *b.Messages[next].ToolCallID != c.ID {
				return fmt.Sprintf("V01 message %d: call %q is not followed by its result", i, c.ID)
			}
		}
		for j := range m.ToolCalls {
			if why := checkMessage(i+1+j, b.Messages[i+1+j], thinking); why != "" {
				return fmt.Sprintf("message %d: %s", i+1+j, why)
			}
		}
		i += len(m.ToolCalls)
		if m.Role == "tool" {
			return fmt.Sprintf("V03 message %d: a result without a call", i)
		}
	}
	if last := b.Messages[len(b.Messages)-1].Role; last != "user" && last != "tool" {
		return "V23 the last role is " + last
	}
	return checkTools(b)
}

func checkMessage(i int, m checkedMessage, thinking bool) string {
	if m.Content == nil {
		return "V09 no content"
	}
	all := *m.Content
	switch m.Role {
	case "system":
		if i != 0 {
			return "V19 a system message in the middle"
		}
	case "user":
		if strings.TrimSpace(*m.Content) == "" {
			return "V24 an empty user message"
		}
	case "tool":
		if m.ToolCallID == nil || *m.Content == "" {
			return "V11 a result without id or content"
		}
	case "assistant":
		if *m.Content == "" && len(m.ToolCalls) == 0 {
			return "V08 neither content nor calls"
		}
		if thinking != (m.Reasoning != nil) {
			return fmt.Sprintf("V25 reasoning_content is there: %v", m.Reasoning != nil)
		}
		if m.Reasoning != nil {
			all += *m.Reasoning
		}
	default:
		return "V20 role " + m.Role
	}
	for _, c := range m.ToolCalls {
		if c.Type != "function" || !checkName.MatchString(c.Function.Name) || !checkID.MatchString(c.ID) {
			return fmt.Sprintf("V13 V14 V06 V07 call %+v", c)
		}
		var args map[string]any
		if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil || args == nil {
			return fmt.Sprintf("V12 arguments %q", c.Function.Arguments)
		}
		flat, _ := json.Marshal(args)
		all += string(flat) + fmt.Sprint(args)
	}
	if strings.Contains(all, "\x00") {
		return "V29 a NUL"
	}
	return ""
}

func checkTools(b checkedBody) string {
	names := map[string]bool{}
	for _, tool := range b.Tools {
		var p map[string]any
		if err := json.Unmarshal(tool.Function.Parameters, &p); err != nil || p["type"] != "object" {
			return fmt.Sprintf("V18 parameters %s", tool.Function.Parameters)
		}
		if !checkName.MatchString(tool.Function.Name) || names[tool.Function.Name] || tool.Type != "function" {
			return "V14 V15 tool " + tool.Function.Name
		}
		names[tool.Function.Name] = true
	}
	return ""
}

// The checker itself is held by bodies that it must refuse.
func TestCheckerRefuses(t *testing.T) {
	t.Parallel()
	call := `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]}`
	result := `{"role":"tool","tool_call_id":"a","content":"r"}`
	user := `{"role":"user","content":"u"}`
	for name, messages := range map[string]string{
		"V01": call + "," + user, "V02": call + "," + user + "," + result, "V03": user + "," + result, "V04": call + "," + result + "," + result + "," + user,
		"V05": call + "," + result + "," + call + "," + result, "V08": `{"role":"assistant","content":""},` + user, "V19": user + `,{"role":"system","content":"s"},` + user,
		"V09": `{"role":"assistant"},` + user, "V12": strings.Replace(call, `"{}"`, `"null"`, 1) + "," + result, "V23": user + `,{"role":"assistant","content":"a"}`,
		"V24": `{"role":"user","content":" "}`, "V29": `{"role":"user","content":"\u0000"}`, "none": "",
	} {
		if checkBody([]byte(`{"messages":[`+messages+`]}`), false) == "" {
			t.Errorf("%s passes", name)
		}
	}
	if why := checkBody([]byte(`{"messages":[`+user+","+call+","+result+`]}`), false); why != "" {
		t.Errorf("a valid body is refused: %s", why)
	}
}

// Short forms for histories.
func says(text string) *llm.Message {
	return &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.TextBlock(text)}}
}

func calls1(blocks ...llm.Block) *llm.Message {
	return &llm.Message{Role: llm.Assistant, Content: blocks}
}

func callBlock(id, name, args string) llm.Block {
	return llm.Block{Type: llm.ToolCall, ID: id, Name: name, Arguments: args}
}

func result(id, text string) *llm.Message {
	var content []llm.Block
	if text != "" {
		content = []llm.Block{llm.TextBlock(text)}
	}
	return &llm.Message{Role: llm.User, Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: id, Content: content}}, Source: llm.Source{Kind: llm.FromTool, CallID: id}}
}

func think1(s string) llm.Block { return llm.Block{Type: llm.Reasoning, Text: s} }

// encoded is the body of a history; it is checked.
func encoded(t testing.TB, profile string, h llm.Header, messages ...*llm.Message) string {
	t.Helper()
	p, _ := ProfileNamed(profile)
	body, n, err := NewEncoder(p).Body(&llm.Request{Header: h, Messages: messages}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if why := checkBody(body, p.Thinking && h.Config.ReasoningEffort != "off"); why != "" {
		t.Errorf("%s\n%s", why, body)
	}
	var b checkedBody
	if json.Unmarshal(body, &b); len(b.Messages) != n {
		t.Errorf("%d messages in the body, %d reported", len(b.Messages), n)
	}
	return string(body)
}

// brief is a history as "role:content" with calls as name(arguments) and ids.
func brief(body string) string {
	var b checkedBody
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return err.Error()
	}
	var parts []string
	for _, m := range b.Messages {
		s := m.Role[:1] + ":" + *m.Content
		if m.ToolCallID != nil {
			s = "t(" + *m.ToolCallID + "):" + *m.Content
		}
		for _, c := range m.ToolCalls {
			s += fmt.Sprintf(" %s=%s(%s)", c.ID, c.Function.Name, c.Function.Arguments)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " | ")
}
