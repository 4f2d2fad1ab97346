package tui

import "strings"

// Search looks for older messages by what they contain, letter by letter. Case does not
// matter unless the query has capitals.
type Search struct {
	Query string
	Here  bool // only what was written in this directory

	history *History
	found   []Entry
	at      int
}

// Search begins a search in the history. An error means that the file could not be
// read: then only what this process sent is there.
func (h *History) Search() (*Search, error) {
	err := h.refresh()
	s := &Search{history: h}
	s.look()
	return s, err
}

// Type adds to the query.
func (s *Search) Type(text string) {
	text, _ = sanitise(text)
	s.Query += strings.ReplaceAll(text, "\n", " ")
	s.look()
}

// DeleteBack takes the query's last cluster away.
func (s *Search) DeleteBack() {
	if s.Query != "" {
		s.Query = s.Query[:prevStart(s.Query, len(s.Query))]
		s.look()
	}
}

// SetHere changes the scope: this directory, or all of them with this one first.
func (s *Search) SetHere(here bool) {
	s.Here = here
	s.look()
}

// Older goes to the next older match, and reports whether there is one.
func (s *Search) Older() bool {
	if s.at+1 >= len(s.found) {
		return false
	}
	s.at++
	return true
}

// Newer goes back to the next newer match.
func (s *Search) Newer() bool {
	if s.at == 0 {
		return false
	}
	s.at--
	return true
}

// Match is the message found. Nothing is found before something was typed.
func (s *Search) Match() (Entry, bool) {
	if s.at >= len(s.found) {
		return Entry{}, false
	}
	return s.found[s.at], true
}

// Count is the number of the match, from 1, and of all: 0 of 0 if there is none.
func (s *Search) Count() (n, of int) {
	if len(s.found) == 0 {
		return 0, 0
	}
	return s.at + 1, len(s.found)
}

func (s *Search) look() {
	s.at, s.found = 0, nil
	if s.Query == "" {
		return
	}
	exact := strings.ToLower(s.Query) != s.Query
	s.found = s.history.list(s.Here, func(text string) bool {
		if !exact {
			text = strings.ToLower(text)
		}
		return strings.Contains(text, s.Query)
	})
}
