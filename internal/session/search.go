package session

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"dsh/internal/llm"
)

// Hit is a session in which a search found all that was asked for.
type Hit struct {
	Entry
	Where  string // title, prompt, answer, file
	Turn   int    // of the excerpt; 0 for a title, and for a prompt that waits or was taken back
	Text   string // the excerpt, one line; any text of the log, so not safe for a terminal
	More   int    // other texts of the session that one of the words is in
	Unread int    // lines of its log that could not be read
}

const (
	// excerptBefore and excerptAfter are how much of a text is shown around a match, in
	// runes: together a line of a wide screen.
	excerptBefore = 40
	excerptAfter  = 100
	// maxPathArgs bounds the arguments of a call that are looked at for file names: what
	// is longer is a file's content.
	maxPathArgs = 1 << 20
)

// Search goes through the stored sessions, last used first, and yields those in which
// each of the words (any strings, in any case) occurs in a title, a prompt, an answer
// or the name of a file that a call named or changed. It reads each log once, holds no
// more of it than a line, and none after the consumer stops. A log that cannot be read
// is a Hit with Damaged set if its header cannot be; else its readable lines count.
func Search(root string, words []string) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		list, err := List(root)
		if err != nil {
			yield(Hit{}, err)
			return
		}
		for _, e := range list {
			s := newSearch(words)
			hit, found, err := s.run(e)
			if (found || err != nil) && !yield(hit, err) {
				return
			}
		}
	}
}

// search looks through one log.
type search struct {
	words   []string // in lower case
	found   []bool
	waiting []llm.Message // that no turn has taken yet
	turn    int
	hit     Hit
	best    int // how many words the excerpt has
}

func newSearch(words []string) *search {
	s := &search{found: make([]bool, len(words))}
	for _, w := range words {
		s.words = append(s.words, strings.ToLower(w))
	}
	return s
}

func (s *search) run(e Entry) (hit Hit, found bool, err error) {
	s.hit.Entry = e
	src, err := openSource(e.Path)
	if err != nil {
		return s.hit, false, err
	}
	defer src.close()
	s.text("title", e.Title)
	lines := newLineReader(src, 0, src.size)
	for {
		line, _, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return s.hit, false, err
		}
		if lines.number > 1 {
			s.line(line)
		}
	}
	s.turn = 0
	for i := range s.waiting {
		s.prompt(&s.waiting[i])
	}
	s.hit.More = max(0, s.hit.More-1)
	return s.hit, !slices.Contains(s.found, false), nil
}

// searched are the types of which a search reads more than the head.
var searched = [][]byte{
	[]byte(`{"type":"user/message"`), messagePrefix, []byte(`{"type":"tool/call"`), []byte(`{"type":"agent/inbox/spliced"`),
	[]byte(`{"type":"workspace/changed"`), []byte(`{"type":"turn/start"`),
}

func (s *search) line(line []byte) {
	if !slices.ContainsFunc(searched, func(p []byte) bool { return bytes.HasPrefix(line, p) }) {
		return
	}
	evs, err := decodeLine(line, 0, 0)
	if err != nil {
		s.hit.Unread++
		return
	}
	switch p := evs[0].Data.(type) {
	case TurnStart:
		s.turn = p.Turn
	case InboxSpliced:
		s.waiting = append(s.waiting, p.Inserted...)
	case UserMessage:
		s.waiting = slices.DeleteFunc(s.waiting, func(m llm.Message) bool { return m.ID == p.ID })
		s.prompt(&p.Message)
	case AssistantMessage:
		s.text("answer", p.Message.PlainText())
	case WorkspaceChanged:
		s.text("file", p.Path)
	case ToolCall:
		for _, path := range namedFiles(p.Arguments) {
			s.text("file", path)
		}
	}
}

func (s *search) prompt(m *llm.Message) {
	if m.Source.Kind == llm.FromUser {
		s.text("prompt", m.PlainText())
	}
}

// text looks at one text. The excerpt is of the first that has the most of the words.
func (s *search) text(where, text string) {
	lower := strings.ToLower(text)
	n, first := 0, -1
	for i, w := range s.words {
		at := strings.Index(lower, w)
		if at < 0 {
			continue
		}
		s.found[i] = true
		n++
		if first < 0 || at < first {
			first = at
		}
	}
	if n == 0 {
		return
	}
	s.hit.More++
	if n > s.best {
		if len(lower) != len(text) {
			text = lower // lower case may be longer: then it has the place
		}
		s.best, s.hit.Where, s.hit.Turn, s.hit.Text = n, where, s.turn, excerpt(text, first)
		if where == "title" {
			s.hit.Turn = 0
		}
	}
}

// excerpt is what stands around a place, on one line.
func excerpt(text string, at int) string {
	from, to := at, at
	for n := 0; from > 0 && n < excerptBefore; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	for n := 0; to < len(text) && n < excerptAfter; n++ {
		_, size := utf8.DecodeRuneInString(text[to:])
		to += size
	}
	line := strings.Join(strings.Fields(text[from:to]), " ")
	if from > 0 {
		line = "…" + line
	}
	if to < len(text) {
		line += "…"
	}
	return line
}

// namedFiles are the values of a call's arguments that name files, by their keys.
func namedFiles(arguments string) (paths []string) {
	if len(arguments) > maxPathArgs {
		return nil
	}
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return nil
	}
	for _, key := range []string{"file_path", "path"} {
		var path string
		if json.Unmarshal(args[key], &path) == nil && path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
