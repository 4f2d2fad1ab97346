package llmtest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestTextIsStreamed(t *testing.T) {
	sc, err := Parse("s", strings.NewReader("== a\ntext Hello big world\nusage in=1 out=2\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(sc)
	c := http.Client{Transport: s.Pipe()}
	r, err := c.Post(PipeURL+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream_options":{"include_usage":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(r.Body)
	t.Log(string(b))
	r.Body.Close()
	s.Close()
	if err := s.Done(); err != nil {
		t.Fatal(err)
	}
}
