package tui

import (
	"path/filepath"
	"time"
)

// restoreDraft brings back what was not sent when the session was left.
func (m *model) restoreDraft() {
	m.rememberLeft()
	m.composer.Reset()
	m.draft = nil
	if m.o.Drafts == "" {
		return
	}
	m.draft = NewDraftFile(filepath.Join(m.o.Drafts, m.open.Header.ID+".json"))
	m.draft.redact = m.o.Redact
	draft, err := m.draft.Load()
	switch {
	case err != nil:
		m.open.Notes = append(m.open.Notes, err.Error())
	case len(draft.Parts) > 0:
		m.composer.SetDraft(draft)
		m.hint, m.hintTill = "draft restored", m.now().Add(3*time.Second)
	}
}

// saveDraft writes the draft when it changed, at most once a second.
func (m *model) saveDraft(now time.Time) {
	if m.draft == nil || m.errand != nil { // the draft was saved before it was lent
		m.unsaved = false
		return
	}
	again, err := m.draft.Tick(m.composer, now)
	m.unsaved = !again.IsZero()
	if err != nil {
		m.hint, m.hintTill = "the draft could not be saved: "+err.Error(), now.Add(3*time.Second)
	}
}

// flushDraft writes it now: the session is left, or the text was sent.
func (m *model) flushDraft() {
	if m.draft == nil || m.errand != nil {
		return
	}
	m.report("the draft could not be saved", m.draft.Flush(m.composer, m.now()))
}

// clearDraft empties the composer after its text was sent.
func (m *model) clearDraft() {
	m.hint = "" // it was about the draft
	m.rememberLeft()
	m.composer.Reset()
	m.popup.Close()
	m.flushDraft()
}

// dropDraft clears what was not sent; the history keeps it.
func (m *model) dropDraft() {
	m.remember(m.composer.Text())
	m.clearDraft()
}

// rememberLeft keeps what was changed while looking at earlier prompts.
func (m *model) rememberLeft() {
	for _, text := range m.composer.Aside() {
		m.remember(text)
	}
}

// remember puts a text into the history, before anything can fail with it.
func (m *model) remember(text string) {
	if err := m.history.Add(text, m.composer.Literal(), m.now()); err != nil {
		m.hint, m.hintTill = "the history could not be written: "+err.Error(), m.now().Add(3*time.Second)
	}
}
