package openai

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// frames is what a framer makes of a stream that comes in pieces of the given size.
func frames(t testing.TB, stream string, size int) []string {
	t.Helper()
	var got []string
	f := framer{limit: maxEvent, emit: func(kind string, data []byte) { got = append(got, kind+" "+string(data)) }}
	for i := 0; i < len(stream); i += size {
		if err := f.feed([]byte(stream[i:min(i+size, len(stream))])); err != nil {
			t.Fatal(err)
		}
	}
	f.close()
	return got
}

func TestFramerAtEveryCut(t *testing.T) {
	t.Parallel()
	stream := "\xEF\xBB\xBFdata: 阴\ndata: 气\r\n\r\n: comment\n\nevent: error\rdata:x\r\rdata\n\ndata: {\"a\":1}\ndata: {\"b\":\ndata: 2}\n\nid: 1\nnothing\ndata: [DONE]"
	want := []string{" 阴\n气", "error x", ` {"a":1}`, " {\"b\":\n2}", " [DONE]"}
	for size := 1; size <= len(stream); size++ {
		if got := frames(t, stream, size); !slices.Equal(got, want) {
			t.Fatalf("pieces of %d:\n got %q\nwant %q", size, got, want)
		}
	}
}

func TestF14AnEventThatNeverEndsIsRefused(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"one line": "data: " + strings.Repeat("x", 20), "many lines": strings.Repeat("data: x\n", 20)} {
		f := framer{limit: 16, emit: func(string, []byte) {}}
		if err := f.feed([]byte(line)); err == nil || !strings.Contains(err.Error(), "16") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzFramer(f *testing.F) {
	for _, seed := range []string{
		plain, strings.ReplaceAll(plain, "\n", "\r\n"), strings.ReplaceAll(plain, "\n", "\r"), "\xEF\xBB\xBF" + plain,
		": keep-alive\n\n" + plain, "data:\n\ndata: \n\n", "event: error\ndata: {\"message\":\"m\"}\n\n", "error: {}\n\n",
		"data: {\"a\":\ndata: 1}\n\n", "data: [DONE]", "data: {\"cut", "\r\n\r\n\n\r", ":", "data", "data: a\r", "\xEF\xBB", "id: 7\nretry: 1\ndata: x\n\n",
	} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream string, size uint8) {
		whole := frames(t, stream, len(stream)+1)
		for _, n := range []int{1, int(size%64) + 1} {
			if got := frames(t, stream, n); !slices.Equal(got, whole) {
				t.Fatalf("pieces of %d make other events\n%q\n%q", n, got, whole)
			}
		}
		for _, e := range whole {
			if _, data, _ := strings.Cut(e, " "); strings.TrimSpace(data) == "" {
				t.Fatalf("an empty event: %q", whole)
			}
		}
	})
}

// FuzzStream feeds anything to the whole reading side: it must end with one finish,
// in blocks that open and close, and never panic.
func FuzzStream(f *testing.F) {
	for i, seed := range []string{
		plain, contentA + ff("length") + dd, tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{\"a\":1"}`) + ff("tool_calls") + dd,
		`{"choices":[{"message":{"content":"w"},"finish_reason":"stop"}]}`, "<html>", `[{"error":{}}]`, ee(`null`), ee(`[[["x"]]]`), raw(`{"choices":[{"delta":{"content":[{"text":1}]}}]}`),
		cc(`{"content":"<think>a</think>\n<|DSML|invoke"}`) + ff("stop") + dd, uu(`"prompt_tokens":1e999`) + plain, raw(`{"data":{"data":{"choices":[{}]}}}`),
	} {
		f.Add(seed, uint8(i))
	}
	f.Fuzz(func(t *testing.T, stream string, profile uint8) {
		c := newClient(t, profiles[int(profile)%len(profiles)].Name, serving(stream))
		o := run(t, c, ask("hi"))
		if o.err != nil {
			t.Fatalf("our own fault: %v", o.err)
		}
		for _, r := range o.message() {
			if r < ' ' {
				t.Fatalf("a control character in %q", o.message())
			}
		}
		if o.fin.Kind == "" {
			t.Fatal("a finish without a kind")
		}
	})
}

// FuzzNoByteIsLost writes a text as answer, reasoning and arguments, cut anywhere and
// framed in every way, and wants the same bytes back.
func FuzzNoByteIsLost(f *testing.F) {
	for i, seed := range []string{"a", "two\nlines\r\n\r\n", "data: [DONE]\n\n", ": ping", "<think>no</think>", "<｜DS", "1 < 2 <|", "阴气😀", "\"\\\u0000", " \n", "{\"error\":1}"} {
		f.Add(seed, uint8(i), uint8(i), uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, text string, piece, framing, size uint8) {
		want := strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "\uFFFD")
		if want == "" || strings.Contains(want, "DSML") {
			return
		}
		arguments := string(appendString([]byte(`{"a":`), want)) + "}"
		var stream strings.Builder
		send := func(field, value string, delta func(quoted string) string) {
			for runes := []rune(value); len(runes) > 0; {
				n := min(int(piece%7)+1, len(runes))
				stream.WriteString(delta(`"` + field + `":` + string(appendString(nil, string(runes[:n])))))
				runes = runes[n:]
			}
		}
		plainDelta := func(s string) string { return cc("{" + s + "}") }
		send("reasoning_content", want, plainDelta)
		send("content", want, plainDelta)
		stream.WriteString(tt(`"index":0,"id":"c","function":{"name":"x","arguments":""}`))
		send("arguments", arguments, func(s string) string { return tt(`"index":0,"function":{` + s + `}`) })
		whole := stream.String() + ff("tool_calls") + dd
		switch framing % 5 {
		case 1:
			whole = strings.ReplaceAll(whole, "\n", "\r\n")
		case 2:
			whole = strings.ReplaceAll(whole, "\n", "\r")
		case 3:
			whole = strings.ReplaceAll(whole, "data: ", ": ping\nid: 1\ndata:")
		case 4:
			whole = strings.ReplaceAll(whole, `,"finish_reason"`, "\ndata: ,\"finish_reason\"")
		}
		respond := func(r *http.Request) (*http.Response, error) {
			drain(r)
			return readInPieces(whole, int(size)+1), nil
		}
		o := run(t, newClient(t, "deepseek", respond), ask("hi"))
		if o.text() != want || o.reasoning() != want || o.calls() != "x("+arguments+")" || o.fin.Kind != llm.ToolCalls {
			t.Fatalf("framing %d: %s %q\ntext %q\nreasoning %q\ncalls %q\nwant %q", framing%5, o.fin.Kind, o.message(), o.text(), o.reasoning(), o.calls(), want)
		}
	})
}

// readInPieces is a stream that is read in pieces of the given size.
func readInPieces(whole string, size int) *http.Response {
	return stream(&sized{strings.NewReader(whole), size})()
}

type sized struct {
	io.Reader
	size int
}

func (s *sized) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(len(p), s.size)]) }
