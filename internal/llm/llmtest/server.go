package llmtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// maxBody bounds a request's body in bytes: what gateways accept, and more.
const maxBody = 64 << 20

// Server plays a script to clients of the OpenAI chat API. It is an http.Handler
// (POST .../chat/completions, streaming; GET .../models), and can serve itself over
// loopback (Listen) and over in-memory pipes (Pipe), also both. It is safe for
// parallel requests. Close ends it.
type Server struct {
	script *Script
	closed chan struct{} // closed by Close

	mu      sync.Mutex
	bodies  [][]byte
	served  map[*reply]int
	calls   int                      // the highest generated id
	holds   map[string]chan struct{} // closed by Release
	faults  []error                  // what Done reports
	serving []func()                 // what Close calls, once each
}

// NewServer makes a server that has served nothing. Several may play one script.
func NewServer(script *Script) *Server {
	return &Server{
		script: script,
		closed: make(chan struct{}),
		served: map[*reply]int{},
		holds:  map[string]chan struct{}{},
	}
}

// Requests are the bodies of all chat requests so far, refused ones included, in
// the order in which they arrived. The caller must not change their bytes.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// Release lets every reply that waits at hold NAME, or comes to it later, go on.
func (s *Server) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.hold(name)
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// Done reports, joined, what did not go as the script says: requests refused by the
// validator or by an expect, requests past the last reply, replies that are not
// optional and were not served (as often as repeat says, a loop at least once), and
// with the setting prefix what PrefixStable says.
func (s *Server) Done() error {
	s.mu.Lock()
	faults := append([]error(nil), s.faults...)
	for _, r := range s.script.replies {
		if want := max(r.times, 1); s.served[r] < want && !r.optional {
			faults = append(faults, fmt.Errorf("%s:%d: reply %q served %d of %d requests", s.script.name, r.line, r.name, s.served[r], want))
		}
	}
	s.mu.Unlock()
	if s.script.prefix {
		faults = append(faults, s.PrefixStable())
	}
	return errors.Join(faults...)
}

// ServeHTTP answers one request. Where a reply breaks off it panics with
// http.ErrAbortHandler, which an http.Server turns into a broken connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		s.serveModels(w)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		s.serveChat(w, r)
	default:
		answer(w, http.StatusNotFound, apiError(s.script.dialect, "no such endpoint: "+r.Method+" "+r.URL.Path, ""))
	}
}

func (s *Server) serveModels(w http.ResponseWriter) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Owner  string `json:"owned_by"`
	}
	list := []model{}
	for _, id := range s.script.models {
		list = append(list, model{id, "model", s.script.dialect})
	}
	answer(w, http.StatusOK, encode(map[string]any{"object": "list", "data": list}))
}

func (s *Server) serveChat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		answer(w, http.StatusRequestEntityTooLarge, apiError(s.script.dialect, "request body: "+err.Error(), ""))
		return
	}
	q := s.record(body)
	if status, refusal := s.judge(q); status != 0 {
		answer(w, status, refusal)
		return
	}
	rep, turn := s.pick(q)
	if rep == nil {
		w.Header().Set("X-Should-Retry", "false") // the same request would fare no better
		message := fmt.Sprintf("script %s is exhausted: no reply is left for request %d", s.script.name, q.number)
		s.fault(errors.New(message))
		answer(w, http.StatusInternalServerError, apiError(s.script.dialect, message, ""))
		return
	}
	for _, f := range rep.expect {
		if !f.holds(q) {
			message := fmt.Sprintf("%s:%d: reply %q: request %d does not show: expect %s", s.script.name, rep.line, rep.name, q.number, f.source)
			s.fault(errors.New(message))
			answer(w, http.StatusBadRequest, apiError(s.script.dialect, message, ""))
			return
		}
	}
	p := &player{server: s, reply: rep, request: q, turn: turn, w: w, gone: r.Context().Done()}
	p.play()
}

func (s *Server) record(body []byte) *request {
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	number := len(s.bodies)
	s.mu.Unlock()
	return readRequest(number, body)
}

// judge is the provider's opinion of a request: 0 if it is served.
func (s *Server) judge(q *request) (status int, refusal []byte) {
	if !s.script.lenient {
		status, refusal = Validate(q.body, s.script.dialect)
		if status == 0 && !q.stream {
			status, refusal = http.StatusBadRequest, apiError(s.script.dialect, "a scripted provider only streams: set stream", "stream")
		}
		if status != 0 {
			s.fault(fmt.Errorf("request %d refused: %d %s", q.number, status, refusal))
			return status, refusal
		}
	}
	if s.script.window > 0 && q.window > s.script.window {
		return http.StatusBadRequest, apiError(s.script.dialect, overflow(s.script.window, q), "messages")
	}
	return 0, nil
}

// pick chooses the reply, and says how many requests it has then served.
func (s *Server) pick(q *request) (*reply, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conditional := range []bool{true, false} {
		for _, r := range s.script.replies {
			left := r.times == 0 || s.served[r] < r.times
			if left && conditional == (len(r.when) > 0) && r.suits(q) {
				s.served[r]++
				return r, s.served[r]
			}
		}
	}
	return nil, 0
}

func (r *reply) suits(q *request) bool {
	for _, f := range r.when {
		if !f.holds(q) {
			return false
		}
	}
	return true
}

// callID is new to this server and to the request, which may continue a session
// that another server began.
func (s *Server) callID(q *request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = max(s.calls, q.lastCall()) + 1
	return fmt.Sprintf("call_%d", s.calls)
}

// hold is the channel that Release closes; the caller has the lock.
func (s *Server) hold(name string) chan struct{} {
	if s.holds[name] == nil {
		s.holds[name] = make(chan struct{})
	}
	return s.holds[name]
}

func (s *Server) fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, err)
}

func answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
