package transcript

import (
	"strings"

	"dsh/internal/tui/markdown"
)

// liveAnswer is the drawing of an answer that still streams: what arrives costs what
// it is long, not what the answer is.
type liveAnswer struct {
	id    ID
	theme *Theme
	width int
	md    *markdown.Renderer
	fed   string
}

// maxLive bounds how many answers are drawn as they grow: one streams, at one width in
// the screen and at another in the pager.
const maxLive = 4

// answer draws the Markdown of an answer.
func (r *Renderer) answer(b *Block, o *Options) []string {
	l := r.stream(b, o)
	if !b.State.Live() {
		l.md.Finish()
		for i := range r.live {
			if r.live[i].md == l.md {
				r.live = append(r.live[:i], r.live[i+1:]...)
				break
			}
		}
	}
	return l.md.Rows()
}

// stream finds or begins the drawing of an answer, and feeds it what is new.
func (r *Renderer) stream(b *Block, o *Options) *liveAnswer {
	for i := range r.live {
		l := &r.live[i]
		if l.id == b.ID && l.width == o.Width && l.theme == o.Theme && strings.HasPrefix(b.Text, l.fed) {
			l.md.Append(b.Text[len(l.fed):])
			l.fed = b.Text
			return l
		}
	}
	if len(r.live) == maxLive {
		r.live = r.live[1:]
	}
	l := liveAnswer{b.ID, o.Theme, o.Width, markdown.New(markdown.Options{Width: o.Width, Theme: o.Theme.Markdown}), b.Text}
	l.md.Append(b.Text)
	r.live = append(r.live, l)
	return &r.live[len(r.live)-1]
}

// Final is how many of the rows of a streaming answer, from the first on, stay as they
// are whatever arrives, unless its request fails. A screen may print them ahead of the
// block. Of another live block it is 0, of a settled one it is all.
func (r *Renderer) Final(b *Block, o Options) int {
	rows := r.Rows(b, o)
	switch {
	case !b.State.Live():
		return len(rows)
	case b.Kind != Answer:
		return 0
	}
	o.fill()
	o.Width = max(o.Width, minWidth) // as it is drawn
	return len(rows) - len(r.stream(b, &o).md.Rows()) + r.stream(b, &o).md.Settled()
}
