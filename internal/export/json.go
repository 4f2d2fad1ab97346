package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

const (
	// Format names the JSON form; Version counts up when a field changes its meaning.
	Format  = "dsh-session"
	Version = 1
)

// Info is what the JSON form says of the session as a whole.
type Info struct {
	ID         string    `json:"id"`
	Title      string    `json:"title"`
	Cwd        string    `json:"cwd"`
	Created    time.Time `json:"created"`
	Used       time.Time `json:"used"`
	ForkedFrom string    `json:"forked_from,omitempty"`
	Model      string    `json:"model,omitempty"` // the last one
	Turns      int       `json:"turns"`
	Usage      llm.Usage `json:"usage"`
	Cost       *float64  `json:"cost_usd"` // null: not known
	Changed    []string  `json:"changed"`  // files
}

// info takes the title from whoever lists sessions: the log may have none.
func info(s *session.Snapshot, title string) Info {
	h, st := s.Header(), s.State()
	i := Info{ID: h.ID, Title: title, Cwd: h.Cwd, Created: time.UnixMilli(h.CreatedAt).UTC(),
		Used: time.UnixMilli(st.LastTime).UTC(), ForkedFrom: h.ParentSession, Turns: st.Turn,
		Usage: st.Usage, Cost: usd(st.Bill), Changed: append([]string{}, st.Changed...)}
	if st.Header != nil {
		i.Model = st.Header.Config.Provider + "/" + st.Header.Config.Model
	}
	return i
}

// JSON writes one object: format, version, session (an Info) and items (Items, one a
// line, in the order of the log). It is ASCII-safe for a terminal: what that would
// obey is escaped.
func JSON(w io.Writer, s *session.Snapshot, title string, present Present) error {
	out := bufio.NewWriter(w)
	head, err := encode(info(s, title))
	if err != nil {
		return err
	}
	_, _ = out.WriteString(`{"format":"` + Format + `","version":1,"session":` + head + `,"items":[`)
	sep := "\n"
	for item := range items(s, present) {
		text, err := encode(item)
		if err != nil {
			return err
		}
		if _, err := out.WriteString(sep + text); err != nil {
			return err
		}
		sep = ",\n"
	}
	if err := s.Err(); err != nil {
		return err
	}
	_, _ = out.WriteString("\n]}\n") // Flush returns its error
	return out.Flush()
}

func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return termtext.JSON(string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))), err
}
