package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// PipeURL is the base URL for clients that use Pipe. No name is looked up.
const PipeURL = "http://llmtest.invalid/v1"

var errClosed = errors.New("scripted provider is closed")

// Listen serves on a free port of 127.0.0.1 until Close, and returns the base URL.
func (s *Server) Listen() (baseURL string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the scripted provider: %w", err)
	}
	if !s.serve(l) {
		return "", errClosed
	}
	return "http://" + l.Addr().String() + "/v1", nil
}

// Pipe is a client's transport whose connections are in-memory pipes to this
// server, for any http URL (PipeURL is one). Nothing in it waits for the system, so
// it works in a testing/synctest bubble in which server and transport were made.
// Close ends its connections, idle and busy.
func (s *Server) Pipe() http.RoundTripper {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	t := &http.Transport{DialContext: l.dial}
	if s.serve(l) {
		s.onClose(t.CloseIdleConnections)
	}
	return t
}

// Close ends all replies and connections and waits for them. Later requests fail.
// It returns nil, and may be called again.
func (s *Server) Close() error {
	s.mu.Lock()
	ends := s.serving
	s.serving = nil
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	for _, end := range ends {
		end()
	}
	return nil
}

// onClose adds what Close must end, unless the server is closed already.
func (s *Server) onClose(end func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
	}
	s.serving = append(s.serving, end)
	return true
}

// serve answers a listener's connections until Close, which waits for the accept
// loop and then for every connection.
func (s *Server) serve(l net.Listener) bool {
	var loop, conns sync.WaitGroup
	h := &http.Server{
		Handler:  s,
		ErrorLog: log.New(io.Discard, "", 0), // broken connections are part of the play
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew: // called in the accept loop, so before Close waits
				conns.Add(1)
			case http.StateClosed:
				conns.Done()
			}
		},
	}
	loop.Add(1)
	ok := s.onClose(func() {
		_ = h.Close() // closes what the wait below is for
		loop.Wait()
		conns.Wait()
	})
	if !ok {
		_ = l.Close() // nothing was accepted
		return false
	}
	go func() {
		defer loop.Done()
		_ = h.Serve(l) // ends with ErrServerClosed
	}()
	return true
}

// pipeListener hands the server's ends of pipes from dial to Accept.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, errClosed
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "llmtest" }
