package tui

import "strings"

// errand is something else than a message that the composer is lent for: the words of
// a no, a waiting message that is being changed. The draft waits meanwhile and comes
// back, whatever ends the errand.
type errand struct {
	prompt string
	hint   string
	done   func(text string) bool // false keeps the text and the errand
	cancel func()                 // may be nil
	hold   bool                   // what it is about stays held
	draft  Draft
	begun  string // the text it began with
}

// borrow lends the composer to an errand, with a first text.
func (m *model) borrow(e *errand, text string) {
	m.flushDraft()
	m.popup.Close()
	m.search = nil
	e.draft, e.begun = m.composer.Draft(), text
	m.composer.Reset()
	if text != "" {
		m.composer.SetText(text)
	}
	m.errand = e
}

// finishErrand does what the errand is for.
func (m *model) finishErrand(text string) {
	if e := m.errand; e.done(text) {
		m.giveBack(e)
	}
}

// dropErrand ends it without its purpose; what was written for it goes to the history.
func (m *model) dropErrand() {
	e := m.errand
	if e == nil {
		return
	}
	if text := m.composer.Text(); text != e.begun {
		m.remember(text)
	}
	if e.cancel != nil {
		e.cancel()
	}
	m.giveBack(e)
}

// orphanErrand ends an errand whose purpose went away while somebody wrote: the words
// join the draft.
func (m *model) orphanErrand() {
	e, words := m.errand, m.composer.Text()
	m.giveBack(e)
	if strings.TrimSpace(words) == "" {
		return
	}
	if draft := m.composer.Text(); strings.TrimSpace(draft) != "" {
		words = draft + "\n\n" + words
	}
	m.composer.SetText(words)
	m.flushDraft()
}

func (m *model) giveBack(e *errand) {
	m.errand = nil
	m.popup.Close()
	m.composer.SetDraft(e.draft)
}
