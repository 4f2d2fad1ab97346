package audit

import (
	"fmt"

	"dsh/internal/llm"
	"dsh/internal/llm/openai"
	"dsh/internal/session"
)

// Report is what Verify found. A log is good when Structure and Wrong are nil.
type Report struct {
	Events   int
	Requests int // with a recorded digest
	Derived  int // of them, those whose bytes were derived again and agree
	Unknown  int // of them, those of an encoder or profile that this dsh does not have

	Torn      bool  // the file ends in a half-written record
	Open      bool  // a turn is open: the session is running, or a crash ended it
	Structure error // the first broken invariant
	Wrong     *Wrong
}

// Wrong is the first request whose bytes are not those that were sent.
type Wrong struct {
	Seq, Turn, Step, Attempt int
	Reason                   string // what differs
}

func (w *Wrong) Error() string {
	return fmt.Sprintf("the request of turn %d, step %d, attempt %d (event %d) is not the one that was sent: %s",
		w.Turn, w.Step, w.Attempt, w.Seq, w.Reason)
}

// Verify checks the log's structure, then derives every request again: header and
// messages are folded from the events before it, encoded, and compared with the
// digest that was taken of what really left. A request beside the conversation says
// what it made of them. An error means that the log could not
// be read.
func Verify(s *session.Snapshot) (Report, error) {
	r := Report{Torn: s.Torn, Open: len(s.Closers()) > 0}
	r.Structure = session.Check(s.Header(), s.Events())
	if err := s.Err(); err != nil {
		return r, err
	}
	encoders := map[string]*openai.Encoder{}
	for ev, before := range s.Prefixes() {
		r.Events++
		sent, ok := ev.Data.(session.RequestSent)
		if !ok {
			continue
		}
		r.Requests++
		encoder := encoderFor(encoders, sent.Sent)
		if encoder == nil {
			r.Unknown++
			continue
		}
		if why := compare(encoder, &sent, before); why != "" {
			if r.Wrong == nil {
				r.Wrong = &Wrong{Seq: ev.Seq, Turn: sent.Turn, Step: sent.Step, Attempt: sent.Attempt, Reason: why}
			}
			continue
		}
		r.Derived++
	}
	return r, s.Err()
}

// encoderFor is the encoder that made the request, one for each profile so that it
// can go on from its last request; nil if this dsh has none.
func encoderFor(encoders map[string]*openai.Encoder, sent llm.Sent) *openai.Encoder {
	profile, known := openai.ProfileNamed(sent.Profile)
	if !known || sent.Wire != openai.Wire {
		return nil
	}
	if encoders[sent.Profile] == nil {
		encoders[sent.Profile] = openai.NewEncoder(profile)
	}
	return encoders[sent.Profile]
}

// compare derives a request; "" says that it is what was sent.
func compare(encoder *openai.Encoder, sent *session.RequestSent, before session.Prefix) string {
	if before.Header == nil {
		return "no header stands before it"
	}
	req := &llm.Request{Header: *before.Header, Messages: before.Messages}
	if sent.Aside != nil {
		var err error
		if req, err = sent.Aside.Request(req.Header, req.Messages); err != nil {
			return "it cannot be derived: " + err.Error()
		}
	}
	body, messages, err := encoder.Body(req, sent.Repairs)
	switch {
	case err != nil:
		return "it cannot be derived: " + err.Error()
	case messages != sent.Messages:
		return fmt.Sprintf("the log derives %d messages, %d were sent", messages, sent.Messages)
	case len(body) != sent.Bytes:
		return fmt.Sprintf("the log derives %d bytes, %d were sent", len(body), sent.Bytes)
	case openai.Digest(body) != sent.SHA256:
		return "the digests differ"
	}
	return ""
}
