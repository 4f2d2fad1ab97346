package transcript

import (
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// Presenter shows a call for people: pending when r is nil. It is pure and total.
type Presenter func(name, rawArgs string, r *session.ToolResult) session.Display

// Renderer draws blocks and keeps what it drew. It is for one goroutine.
type Renderer struct {
	present Presenter
	cache   cache
	live    []liveAnswer
}

// NewRenderer makes one. A nil present shows calls by their names and arguments.
func NewRenderer(present Presenter) *Renderer {
	if present == nil {
		present = plainCard
	}
	return &Renderer{present: present}
}

// Options are what rows depend on besides their block.
type Options struct {
	Width    int // columns; 0 means 80
	Expanded bool
	Theme    *Theme // nil means that of a terminal of which nothing is known

	// For what is live only:
	Now    int64  // ms since 1970, for how long it takes; 0 shows no time
	Frame  int    // of the spinner
	Output string // what a running command has said so far, or its end
}

func (o *Options) fill() {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	if o.Theme == nil {
		o.Theme = defaultTheme
	}
}

const (
	defaultWidth = 80
	minWidth     = 12  // narrower ones are drawn at this width and cut
	maxText      = 110 // columns of what is read
	compactWidth = 60  // below it, less is indented
	lineWidth    = 40  // below it, cards are one line
)

var defaultTheme = NewTheme(Terminal{})

// Rows draws a block: none if there is nothing to see. No row is wider than the width,
// holds a control character but the styles of the theme, or ends in spaces. The slice
// is the renderer's; it is read only.
func (r *Renderer) Rows(b *Block, o Options) []string {
	o.fill()
	if b.State.Live() && (b.Kind == Call || b.Kind == Notice) {
		return r.draw(b, o)
	}
	k := key{b.ID, b.Version, o.Width, o.Expanded, o.Theme}
	rows, ok := r.cache.get(k)
	if !ok {
		rows = r.draw(b, o)
		r.cache.put(k, rows)
	}
	return rows
}

// RowsAs draws a call that is not settled as d instead of as its tool presents it: who
// is asked about it is shown more than its arguments tell.
func RowsAs(b *Block, d session.Display, o Options) []string {
	o.fill()
	r := &Renderer{present: func(string, string, *session.ToolResult) session.Display { return d }}
	return r.draw(b, o)
}

func (r *Renderer) draw(b *Block, options Options) []string {
	o := &options
	if b.Hidden && !o.Expanded {
		return nil
	}
	cut := o.Width
	o.Width = max(o.Width, minWidth)
	w := writer{o: o, t: o.Theme}
	if b.Spaced {
		w.rows = append(w.rows, "")
	}
	switch b.Kind {
	case User:
		w.user(b)
	case Thought:
		w.thought(b)
	case Answer:
		w.rows = append(w.rows, r.answer(b, o)...)
		if b.State == Partial {
			w.line(w.t.Dim.Paint("(cut off)"))
		}
	case Call:
		w.card(b, r.display(b))
	case Notice:
		w.notice(b)
	case Job:
		w.job(b)
	case End:
		w.sentence(b.State, b.Text)
	}
	if cut < minWidth {
		for i := range w.rows {
			w.rows[i] = trimStyled(termtext.Cut(w.rows[i], cut))
		}
	}
	return w.rows
}

// cache holds rows in two generations: what is not asked for while the young one
// fills is forgotten.
type cache struct {
	young, old map[key][]string
	rows       int // in young
}

type key struct {
	id       ID
	version  int
	width    int
	expanded bool
	theme    *Theme
}

// maxCached is how many rows a generation holds: a few hundred screens.
const maxCached = 10_000

func (c *cache) get(k key) ([]string, bool) {
	rows, ok := c.young[k]
	if ok {
		return rows, true
	}
	if rows, ok = c.old[k]; ok {
		c.put(k, rows)
	}
	return rows, ok
}

func (c *cache) put(k key, rows []string) {
	if c.young == nil || c.rows > maxCached {
		c.young, c.old, c.rows = map[key][]string{}, c.young, 0
	}
	c.young[k] = rows
	c.rows += len(rows) + 1
}
