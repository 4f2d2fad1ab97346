package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"dsh/internal/llm"
)

// Options configure a Client.
type Options struct {
	BaseURL string // up to and without /chat/completions
	Key     string // "" for endpoints that want none
	KeyName string // where the key came from, for error texts: "DEEPSEEK_API_KEY"
	Profile Profile

	Transport http.RoundTripper // nil: one with proxies from the environment
	UserAgent string

	Connect  time.Duration // until the connection stands; 0 is DefaultConnect; not for a Transport of the caller's
	Idle     time.Duration // without a byte; 0 is DefaultIdle
	Progress time.Duration // with keep-alives only; 0 is DefaultProgress
}

// Client talks to one endpoint. A request goes through these stages:
//
//	Encoder    (encode.go)    history made valid (normalise.go), written to bytes once
//	go-openai                 the request around them
//	doer       (doer.go)      our bytes, BeforeSend, refusals, timers (watch.go)
//	body       (body.go)      event stream or JSON, cut into events (frame.go)
//	decoder    (decode.go)    events (event.go) to chunks, the verdict (finish.go)
//	Classify   (classify.go)  refusals to failures
//	learn      (repair.go)    what a refusal teaches, and the request once more
//
// It is safe for concurrent use; requests of one conversation at a time are fastest.
type Client struct {
	options Options
	host    string
	api     *goopenai.Client
	doer    *doer
	encoder *Encoder

	mu      sync.Mutex
	learned map[string][]string // repairs by model
}

var usableKey = regexp.MustCompile(`^[\x21-\x7E]+$`)

// ErrCredential marks a key that cannot be sent, found before any network use.
var ErrCredential = errors.New("invalid credential")

// New checks the options and makes a client. It does not connect.
func New(o Options) (*Client, error) {
	o.Key = strings.TrimSpace(o.Key)
	if o.Key != "" && !usableKey.MatchString(o.Key) {
		return nil, fmt.Errorf("%w: the key from %s holds spaces, line breaks or non-ASCII characters; copy it again", ErrCredential, o.keyName())
	}
	// Pasted from a manual it may come with blanks, slashes and the endpoint itself.
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(o.BaseURL), "/"), "/chat/completions")
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" {
		return nil, fmt.Errorf("base URL %q: want http(s)://host[/path]", oneLine(o.BaseURL, o.Key))
	}
	o.Connect, o.Idle, o.Progress = cmp.Or(o.Connect, DefaultConnect), cmp.Or(o.Idle, DefaultIdle), cmp.Or(o.Progress, DefaultProgress)
	if o.Transport == nil {
		o.Transport = newTransport(o.Connect)
	}
	c := &Client{options: o, host: u.Host, encoder: NewEncoder(o.Profile), learned: map[string][]string{}}
	c.doer = &doer{
		http: &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the key must not follow to another host
		}},
		userAgent: o.UserAgent, idle: o.Idle, progress: o.Progress,
	}
	config := goopenai.DefaultConfig(o.Key)
	config.BaseURL, config.HTTPClient, config.EmptyMessagesLimit = o.BaseURL, c.doer, math.MaxUint32
	c.api = goopenai.NewClientWithConfig(config)
	return c, nil
}

func (o Options) keyName() string { return cmp.Or(o.KeyName, "the settings") }

func newTransport(connect time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connect}).DialContext,
		TLSHandshakeTimeout: connect,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     90 * time.Second, // as in net/http
		MaxIdleConns:        10,
	}
}

// Close lets go of idle connections. Streams that run are not touched.
func (c *Client) Close() { c.doer.http.CloseIdleConnections() }

// Stream dispatches a request and yields its chunks; the last is exactly one finish.
// What goes wrong at the provider or on the way to it arrives in that finish, as
// error or aborted. A non-nil error comes alone and last: BeforeSend refused, or
// the request cannot be encoded; nothing was sent then.
//
// A request that the endpoint refuses for a reason that can be repaired is repaired
// and dispatched again, each reason once; BeforeSend is called for every dispatch.
// Leaving the loop early ends the request and frees all it held.
func (c *Client) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		stream, body, err := c.open(ctx, r)
		var ours *ownFault
		if errors.As(err, &ours) {
			yield(llm.Chunk{}, ours.error)
			return
		}
		if err != nil {
			yield(llm.Chunk{Type: llm.FinishChunk, Reason: c.ended(ctx, r, err)}, nil)
			return
		}
		defer stream.Close()
		alive := true
		d := newDecoder(c.options.Profile, r.Header, func(chunk llm.Chunk) {
			alive = alive && yield(chunk, nil)
		})
		for alive {
			if err := c.next(stream, d); errors.Is(err, io.EOF) {
				d.end(body.done, func(f *llm.Failure) { c.explain(r, f) })
				return
			} else if err != nil {
				d.finish(*c.ended(ctx, r, err))
				return
			}
		}
	}
}

// ownFault is an error that is not the provider's.
type ownFault struct{ error }

// open dispatches until the endpoint accepts the request or nothing can be repaired.
func (c *Client) open(ctx context.Context, r *llm.Request) (*goopenai.ChatCompletionStream, *body, error) {
	for {
		repairs := c.repairs(r.Header.Config.Model)
		prefix, tail, messages, err := c.encoder.parts(r, repairs)
		if err != nil {
			return nil, nil, &ownFault{fmt.Errorf("request to %s: %w", c.host, err)}
		}
		disp := &dispatch{prefix: prefix, tail: tail, sent: newSent(c.options.Profile, messages, repairs), beforeSend: r.BeforeSend}
		// The struct is a husk: the doer sends our bytes. A name that is no model's
		// keeps go-openai's checks of model names away.
		stream, err := c.api.CreateChatCompletionStream(withDispatch(ctx, disp), goopenai.ChatCompletionRequest{Model: "dsh"})
		if err == nil {
			return stream, disp.body, nil
		}
		if disp.refused != nil {
			return nil, nil, &ownFault{disp.refused}
		}
		var no *refusal
		if !errors.As(err, &no) || !c.learn(r.Header.Config.Model, repairs, no) {
			return nil, nil, err
		}
	}
}

func (c *Client) repairs(model string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.learned[model])
}

// learn remembers the repair for a refusal. applied is what was in force when it
// came: another request may have learned more since, which is worth a try too.
func (c *Client) learn(model string, applied []string, no *refusal) bool {
	repair, ok := learn(c.options.Profile, applied, no.Status, no.text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok && slices.Equal(c.learned[model], applied) {
		c.learned[model] = append(slices.Clone(applied), repair)
	}
	return ok
}

// next takes one event.
func (c *Client) next(stream *goopenai.ChatCompletionStream, d *decoder) error {
	payload, err := stream.RecvRaw()
	if err != nil {
		if d.reason != "" && !isFailure(err) {
			return io.EOF // the answer was complete
		}
		return err
	}
	if f := d.add(payload); f != nil {
		return f
	}
	return nil
}

func isFailure(err error) bool {
	var f *llm.Failure
	return errors.As(err, &f)
}
