package openai

import (
	"strings"

	"dsh/internal/llm"
)

// gravity orders finish reasons: where several come, the gravest counts, and the
// first of equals. Some servers send "stop" after every delta.
func gravity(reason string) int {
	switch reason {
	case "":
		return 0
	case "stop", "eos", "end_turn", "tool_calls", "function_call":
		return 1
	case "length", "max_tokens":
		return 3
	}
	if _, ok := failures[reason]; ok {
		return 4
	}
	return 2
}

// failures are the finish reasons that say that the answer is none.
var failures = map[string]struct {
	code    llm.Code
	message string
}{
	"content_filter":                {llm.CodeContentFilter, "the provider's content filter stopped the answer"},
	"sensitive":                     {llm.CodeContentFilter, "the provider's content filter stopped the answer"},
	"insufficient_system_resource":  {llm.CodeServer, "the provider ran out of capacity during the answer"},
	"network_error":                 {llm.CodeServer, "the provider lost its connection to the model"},
	"error":                         {llm.CodeServer, "the provider failed during the answer"},
	"aborted":                       {llm.CodeAborted, "the provider aborted the answer"},
	"model_context_window_exceeded": {llm.CodeContextOverflow, "the conversation is longer than the model's context window"},
}

// verdict is how the stream ended, judged by what came rather than by what the
// finish reason claims: complete calls run, and a stop with nothing is no answer.
func (d *decoder) verdict(done bool) llm.Finish {
	if d.events == 0 {
		return failed(llm.CodeEmptyResponse, "the answer ended before it began: an empty response")
	}
	if d.reason == "" && !done {
		return failed(llm.CodeStreamClosed, "the connection closed before the answer was complete")
	}
	reason := d.reason
	if d.refused {
		reason = "content_filter"
	}
	if f, ok := failures[reason]; ok {
		return failed(f.code, "%s", f.message)
	}
	cut := gravity(d.reason) == gravity("length")
	switch {
	case len(d.calls.list) > 0:
		return d.callsVerdict(cut)
	case d.split.leaked:
		return failed(llm.CodeToolFormat, "the model wrote a tool call as text")
	case gravity(d.reason) == gravity("unknown"):
		return failed(llm.CodeUnknown, "the answer ended with unknown finish reason %q", oneLine(d.reason, ""))
	case d.said && cut:
		return llm.Finish{Kind: llm.MaxTokens}
	case d.said:
		return llm.Finish{Kind: llm.Stop}
	case cut:
		fin := failed(llm.CodeEmptyResponse, "the output limit was used up before any text, by reasoning: raise max tokens or lower the effort")
		fin.Failure.Final = true // again it would cost as much and end as it did
		return fin
	case d.thought:
		return failed(llm.CodeEmptyResponse, "the model reasoned and gave no answer")
	}
	return failed(llm.CodeEmptyResponse, "the model gave no answer; the prompt may exceed the context that the server has loaded")
}

// callsVerdict: arguments that the output limit cut are never run, and arguments
// without any finish reason must at least be whole.
func (d *decoder) callsVerdict(cut bool) llm.Finish {
	for _, c := range d.calls.list {
		args := mended(c.args.String())
		blank := strings.TrimSpace(args) == ""
		switch {
		case cut && !isObject(args):
			return llm.Finish{Kind: llm.MaxTokens}
		case d.reason == "" && !blank && !isObject(args):
			return failed(llm.CodeStreamClosed, "the answer ended inside the arguments of a tool call")
		}
	}
	return llm.Finish{Kind: llm.ToolCalls}
}
