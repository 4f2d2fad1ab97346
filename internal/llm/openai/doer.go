package openai

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"dsh/internal/llm"
)

// maxErrorBody is how much of an error answer is read.
const maxErrorBody = 64 << 10

// doer is the HTTPDoer under go-openai. It replaces the body by the one on the
// context, tells BeforeSend what leaves, and keeps what go-openai would lose: the
// headers and bytes of a refusal, and the difference between [DONE] and a cut.
type doer struct {
	http           *http.Client
	userAgent      string
	idle, progress time.Duration
}

// dispatch is one request on its way.
type dispatch struct {
	prefix, tail []byte
	sent         llm.Sent
	beforeSend   func(llm.Sent) error

	refused error // what beforeSend said
	body    *body // the answer, once it has begun
}

type dispatchKey struct{}

// refusal is an answer that is no success.
type refusal struct {
	*llm.Failure
	text string // all that the endpoint said, for learn
}

func (d *doer) Do(req *http.Request) (*http.Response, error) {
	disp := req.Context().Value(dispatchKey{}).(*dispatch)
	req.Header.Set("User-Agent", d.userAgent)
	if req.Method == http.MethodPost {
		if err := disp.load(req); err != nil {
			return nil, err
		}
	}
	w := newWatch(req.Context(), req.URL.Host, d.idle, d.progress)
	resp, err := d.http.Do(req.WithContext(w.ctx))
	if err != nil {
		defer w.stop()
		return nil, w.cause(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer w.stop()
		return nil, refuse(resp)
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		defer w.stop()
		resp.Body.Close()
		return nil, &llm.Failure{Code: llm.CodeMalformed, Message: fmt.Sprintf("the answer is compressed (%s), which was not asked for", enc)}
	}
	disp.body = newBody(resp, w)
	resp.Body = disp.body
	return resp, nil
}

// load puts our bytes into the request, after BeforeSend has seen them.
func (disp *dispatch) load(req *http.Request) error {
	disp.sent.Bytes = len(disp.prefix) + len(disp.tail)
	disp.sent.SHA256 = digest(disp.prefix, disp.tail)
	if disp.beforeSend != nil {
		if err := disp.beforeSend(disp.sent); err != nil {
			disp.refused = err
			return err
		}
	}
	req.ContentLength = int64(disp.sent.Bytes)
	req.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(disp.prefix), bytes.NewReader(disp.tail))), nil
	}
	req.Body, _ = req.GetBody()
	return nil
}

// refuse reads the answer of a request that was not accepted.
func refuse(resp *http.Response) error {
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a cut error text is still one
	f := Classify(resp.StatusCode, resp.Header, text)
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		f.Message = "the base URL redirects to " + host(resp.Header.Get("Location"))
	}
	return &refusal{Failure: f, text: string(text)}
}

// withDispatch is the context that the doer finds its request on.
func withDispatch(ctx context.Context, d *dispatch) context.Context {
	return context.WithValue(ctx, dispatchKey{}, d)
}

func newSent(p Profile, messages int, repairs []string) llm.Sent {
	if repairs == nil {
		repairs = []string{}
	}
	return llm.Sent{Messages: messages, Profile: p.Name, Wire: Wire, Repairs: slices.Clone(repairs)}
}
