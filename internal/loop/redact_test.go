package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/redact"
	"dsh/internal/session"
	"dsh/internal/tools"
)

const ownKey = `zz-own"key/0123`

// hiding keeps the user's key and whatever looks like one out of the log.
func hiding(o *Options) {
	values := []redact.Value{{Kind: "API key", Text: ownKey}}
	own, known := redact.ValuesOnly(values), redact.New(values)
	o.RedactResult = func(text string) string { clean, _ := known.Text(text); return clean }
	o.RedactPrompt = func(text string) (string, bool) { clean, _ := own.Text(text); return clean, false }
	o.RedactAnswer = func() func(string, bool) string {
		s := own.Stream()
		return func(piece string, end bool) string { return string(s.Next([]byte(piece), end)) }
	}
}

// A key in an answer is gone before its first chunk is logged, wherever the pieces
// are cut; what runs and what is sent again is what is logged.
func TestD07AnswersHoldNoKeyWhereverTheyAreCut(t *testing.T) {
	t.Parallel()
	inJSON := `zz-own\"key/0123`
	args := `{"n":1,"s":"` + inJSON + `"}`
	for at := range len(args) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ran string
				p := &probe{name: "probe", run: func(_ context.Context, args string) (tools.Result, error) {
					ran = args
					return tools.Result{Text: "ok"}, nil
				}}
				said := "a " + ownKey + " b zz-ow"
				cut := min(at, len(said))
				f := newFixture(t, []play{func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
					yield(llm.Chunk{Type: llm.ReasoningDelta, Index: 0, Text: said[:cut]})
					yield(llm.Chunk{Type: llm.TextDelta, Index: 1, Text: said[:cut]})
					yield(llm.Chunk{Type: llm.ReasoningDelta, Index: 0, Text: said[cut:]})
					yield(llm.Chunk{Type: llm.BlockEnd, Index: 0, Block: &llm.Block{Type: llm.Reasoning, Text: said}})
					yield(llm.Chunk{Type: llm.TextDelta, Index: 1, Text: said[cut:]})
					yield(delta(2, "c1", "probe", args[:at]))
					yield(llm.Chunk{Type: llm.ToolCallDelta, Index: 2, ArgumentsDelta: args[at:]})
				}, say("done")}, with(p), hiding)
				f.prompt("go")
				raw := f.raw()
				for _, bad := range []string{"key/0123", `own\"key`, ownKey} {
					if strings.Contains(raw, bad) {
						t.Errorf("cut at %d: %q is in the log", at, bad)
					}
				}
				m := of[session.AssistantMessage](f)[0].Message
				want := "a [redacted: API key] b zz-ow"
				expect(t, "the reasoning", m.Content[0].Text, want)
				expect(t, "the text", m.Content[1].Text, want)
				expect(t, "the arguments", m.Content[2].Arguments, `{"n":1,"s":"[redacted: API key]"}`)
				expect(t, "what ran", ran, m.Content[2].Arguments)
				var chunks strings.Builder
				for _, c := range of[session.AssistantChunk](f) {
					if c.Chunk.Type == llm.TextDelta && c.Step == 1 {
						chunks.WriteString(c.Chunk.Text)
					}
				}
				expect(t, "the chunks", chunks.String(), want)
				sent := f.model.request(1).Messages
				expect(t, "what is sent again", sent[len(sent)-2].Content[2].Arguments, m.Content[2].Arguments)
			})
		})
	}
}

// What a cancelled answer has said is kept, without the key in it.
func TestD07CancelledAnswersHoldNoKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("it is "+ownKey+", "), text("or zz-own"))}, hiding)
		f.send("go")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		m := of[session.AssistantMessage](f)[0]
		expect(t, "interrupted", m.Interrupted, true)
		expect(t, "the text", m.Message.PlainText(), "it is [redacted: API key], or ")
		expect(t, "the key is in the log", strings.Contains(f.raw(), "key/0123"), false)
	})
}

func TestD07ResultsHoldNoSecret(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("aB3dE5", 6)
	pem := []string{"-----BEGIN RSA PRIVATE KEY-----", strings.Repeat("MIIEvQIBADANBgkq", 4), "-----END RSA PRIVATE KEY-----"}
	display := &session.Display{Kind: session.ShowDiff, Verb: "Edit", Target: token, Facts: []string{"of " + token},
		Command: &session.CommandBody{Description: token, Dir: "/" + token},
		Diffs: []session.FileDiff{
			{Path: token, Hunks: []session.Hunk{{Lines: []string{" a", "-GH=" + token, "+GH=x"}}}},
			{Path: "key.pem", Hunks: []session.Hunk{{Lines: []string{"-" + pem[0], "-" + pem[1], "-" + pem[2]}}}},
		}}
	digest := strings.Repeat("0123456789abcdef", 4)
	result := tools.Result{Text: "read " + token, Changed: []string{"/w/" + token},
		Contexts: []llm.Message{note("note " + token)},
		Meta: session.ResultMeta{Display: display,
			Seen: []session.FileVersion{{Path: "/w/" + token, SHA256: digest, Size: 5}}}}
	cases := map[string]tools.Result{
		"success": result,
		"blocks":  {Blocks: []llm.Block{llm.TextBlock("one"), llm.TextBlock(token)}},
	}
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) { return r, nil }}
				f := newFixture(t, []play{calls("probe"), say("done")}, with(p), hiding)
				f.prompt("go")
				raw := f.raw()
				expect(t, "the token is in the log", strings.Contains(raw, token), false)
				expect(t, "the private key is in the log", strings.Contains(raw, "MIIE"), false)
				if name != "success" {
					return
				}
				meta, _ := session.DecodeMeta(of[session.ToolResult](f)[0].Meta)
				expect(t, "the digest", meta.Seen[0].SHA256, digest)
				expect(t, "the line", meta.Display.Diffs[0].Hunks[0].Lines[1], "-GH=[redacted: GitHub token]")
				expect(t, "hunks of the private key", len(meta.Display.Diffs[1].Hunks), 0)
				expect(t, "the caller's own", display.Diffs[0].Hunks[0].Lines[1], "-GH="+token)
			})
		})
	}
}

func TestD07FailuresHoldNoSecret(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("aB3dE5", 6)
	t.Run("of a tool", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
				return tools.Result{}, errors.New("cannot open " + token)
			}}
			f := newFixture(t, []play{calls("probe"), say("done")}, with(p), hiding)
			f.prompt("go")
			expect(t, "the result", f.outcomes(), "c1: Error: cannot open [redacted: GitHub token]")
		})
	})
	t.Run("of a provider", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFixture(t, []play{fail(llm.Failure{Code: llm.CodeServer, Message: "no " + token}), say("done")}, hiding)
			f.prompt("go")
			expect(t, "the retry", of[session.Retry](f)[0].Failure.Message, "no [redacted: GitHub token]")
			expect(t, "the token is in the log", strings.Contains(f.raw(), token), false)
		})
	})
}

// A text too long for a result is kept without its secrets, before it is cut.
func TestD07ArtifactsHoldNoSecret(t *testing.T) {
	bubble(t, func(t *testing.T) {
		token := "ghp_" + strings.Repeat("aB3dE5", 6)
		var kept strings.Builder
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: strings.Repeat("x ", 30_000) + token + strings.Repeat(" y", 30_000)}, nil
		}}
		f := newFixture(t, []play{calls("probe"), say("done")}, with(p), hiding, func(o *Options) {
			o.Save = func(_ string, write func(io.Writer) error) (string, error) { return "/out", write(&kept) }
		})
		f.prompt("go")
		expect(t, "the token is kept", strings.Contains(kept.String(), token), false)
		expect(t, "its marker is kept", strings.Contains(kept.String(), " [redacted: GitHub token] "), true)
	})
}

func TestD07NotesAndPromptsHoldNoKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("done")}, hiding)
		_, err := f.Inject(note("ran: echo " + ownKey))
		must(t, err)
		f.prompt("and " + ownKey)
		expect(t, "the key is in the log", strings.Contains(f.raw(), "key/0123"), false)
		expect(t, "requests", f.model.count(), 1) // a value that is no provider's key does not reject a prompt
	})
}

// What goes back to a provider as it came must not carry a secret of the user.
func TestS08DetailsWithASecretAreNotKept(t *testing.T) {
	for name, c := range map[string]struct{ details, want string }{
		"S08 a secret": {`{"reasoning_details":[{"text":"my\u002down-key"}]}`, ""},
		"S08 none":     {`{"reasoning_details":[{"text":"fine"}]}`, `{"reasoning_details":[{"text":"fine"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				done := finish(llm.Stop)
				done.Replay = []byte(c.details)
				f := newFixture(t, []play{func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
					yield(text("ok"))
					yield(done)
				}}, func(o *Options) {
					o.RedactPrompt = func(text string) (string, bool) {
						return strings.ReplaceAll(text, "my-own-key", "[redacted]"), false
					}
				})
				f.prompt("go")
				expect(t, "kept", string(of[session.AssistantMessage](f)[0].Message.Source.Replay), c.want)
			})
		})
	}
}
