package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"
)

// DraftFile keeps the unsent draft of a session, so that it outlives the program. It
// belongs to the goroutine of the screen.
type DraftFile struct {
	path  string
	saved Draft
	last  time.Time

	redact func(string) string // nil: drafts are kept as they are
}

// saveEvery is the least time between two saves while somebody types.
const saveEvery = time.Second

// maxDraft bounds the file that is read back, in bytes: what a composer can hold.
const maxDraft = 64 << 20

// NewDraftFile is the draft in a file. Nothing is read or made yet.
func NewDraftFile(path string) *DraftFile { return &DraftFile{path: path} }

// Load is the draft that was left. No file is no draft.
func (d *DraftFile) Load() (Draft, error) {
	info, err := os.Stat(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return Draft{}, nil
	}
	if err == nil && info.Size() > maxDraft {
		err = fmt.Errorf("%s has %d bytes, more than any draft", d.path, info.Size())
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(d.path)
	}
	var draft Draft
	if err == nil {
		err = json.Unmarshal(data, &draft)
	}
	if err != nil {
		return Draft{}, fmt.Errorf("cannot restore the draft: %w", err)
	}
	d.saved = draft
	return draft, nil
}

// Tick saves the composer's draft if it changed and the last save is a second ago. It
// reports whether it has to be called again for that, at the latest at the time given.
func (d *DraftFile) Tick(c *Composer, now time.Time) (again time.Time, err error) {
	if wait := saveEvery - now.Sub(d.last); wait > 0 && wait <= saveEvery {
		return now.Add(wait), nil
	}
	return time.Time{}, d.save(c, now)
}

// Flush saves the draft now: when the program ends, and when the text was sent.
func (d *DraftFile) Flush(c *Composer, now time.Time) error { return d.save(c, now) }

func (d *DraftFile) save(c *Composer, now time.Time) error {
	draft := c.Draft()
	if d.redact != nil {
		for i := range draft.Parts {
			draft.Parts[i].Text = d.redact(draft.Parts[i].Text)
		}
	}
	if reflect.DeepEqual(draft, d.saved) {
		return nil
	}
	d.last = now
	if err := writeDraft(d.path, draft); err != nil {
		return fmt.Errorf("cannot save the draft: %w", err)
	}
	d.saved = draft
	return nil
}

// writeDraft replaces the file in one step, or removes it for an empty draft. The
// first draft of all makes the directory.
func writeDraft(path string, draft Draft) error {
	if len(draft.Parts) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(draft)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
