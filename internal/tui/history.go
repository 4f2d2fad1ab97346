package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Entry is one line of the history file: a message that was sent, or a draft that was
// cleared.
type Entry struct {
	Text    string    `json:"text"`
	Dir     string    `json:"dir"` // where it was written
	Time    time.Time `json:"time"`
	Literal bool      `json:"literal,omitempty"` // see Composer.Literal
}

// History is what was sent before, by every dsh of this user: a file with one JSON
// object a line, which all append to. The zero path keeps it in memory only.
//
// It belongs to the goroutine of the screen. The file is read when older messages are
// asked for, again when it grew.
type History struct {
	path, dir string
	stored    []Entry // from the file, oldest first
	size      int64   // of what was read of the file, which only grows
	own       []Entry // of this process, oldest first, also what is not stored

	redact func(string) string // nil: messages are kept as they are
}

const (
	// maxHistoryRead is how much of the file's end is read: thousands of messages.
	maxHistoryRead = 4 << 20
	// maxHistoryEntry is the longest line that is stored: one that could not be read
	// back, or would push everything else out, is kept by this process only.
	maxHistoryEntry = 1 << 20
)

// ErrNotStored says that a message was kept for this process, but not in the file.
var ErrNotStored = errors.New("the message is too long for the history file: it can be recalled until dsh exits")

// NewHistory is the history in a file, as seen from a working directory. Nothing is
// read or made yet.
func NewHistory(path, dir string) *History { return &History{path: path, dir: dir} }

// Add stores a message, before it is sent. One that starts with a space, and an empty
// one, are not stored. Other processes that add at the same time lose nothing: a
// message is one write at the end of the file. An error leaves it in memory.
func (h *History) Add(text string, literal bool, now time.Time) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if h.redact != nil {
		text = h.redact(text)
	}
	e := Entry{Text: text, Dir: h.dir, Time: now.UTC().Truncate(time.Millisecond), Literal: literal}
	h.own = append(h.own, e)
	if h.path == "" || strings.HasPrefix(text, " ") {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if len(line) >= maxHistoryEntry {
		return ErrNotStored
	}
	if err := appendLine(h.path, line); err != nil {
		return fmt.Errorf("cannot add to the history: %w: the message can be recalled until dsh exits", err)
	}
	return nil
}

// appendLine adds a line in one write. A line that a killed process left unfinished is
// ended first, by an empty line at worst.
func appendLine(path string, line []byte) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line = append(line, '\n')
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(line)
	return err
}

// refresh reads what was added to the file. One that is not there is empty.
func (h *History) refresh() error {
	if h.path == "" {
		return nil
	}
	f, err := os.Open(h.path)
	if errors.Is(err, os.ErrNotExist) {
		h.stored, h.size = nil, 0
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the history: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("cannot read the history: %w", err)
	}
	if info.Size() < h.size { // another file
		h.stored, h.size = nil, 0
	}
	from := max(info.Size()-maxHistoryRead, h.size)
	data := make([]byte, info.Size()-from)
	n, err := f.ReadAt(data, from)
	if err != nil && err != io.EOF {
		return fmt.Errorf("cannot read the history: %w", err)
	}
	data = data[:bytes.LastIndexByte(data[:n], '\n')+1]
	torn := from > h.size
	h.size = from + int64(len(data))
	if torn {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	h.stored = append(h.stored, parseHistory(data)...)
	return nil
}

// parseHistory reads lines. One that is torn or of another program is left out.
func parseHistory(data []byte) []Entry {
	var entries []Entry
	for line := range bytes.Lines(data) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.Text != "" {
			entries = append(entries, e)
		}
	}
	return entries
}

// list is everything that keep wants, each text once, newest first: what was written
// in this directory, then, unless only that is wanted, the rest.
func (h *History) list(onlyHere bool, keep func(text string) bool) []Entry {
	all := slices.Concat(h.stored, h.own)
	slices.SortStableFunc(all, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	slices.Reverse(all)
	seen := map[string]bool{}
	var entries []Entry
	take := func(here bool) {
		for _, e := range all {
			if (e.Dir == h.dir) == here && !seen[e.Text] && keep(e.Text) {
				seen[e.Text] = true
				entries = append(entries, e)
			}
		}
	}
	take(true)
	if !onlyHere {
		take(false)
	}
	return entries
}
