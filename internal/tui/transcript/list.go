package transcript

// List is a window over rows of items, of which only those that are seen are drawn.
// Its place is an anchor: an item, and how many rows of it stand above the bottom
// edge. So neither a frame nor a change of width needs the heights of all the rest,
// and what is added below does not move what is read. It is for one goroutine.
type List struct {
	count func() int
	rows  func(i, width int) []string

	width, height int
	follow        bool
	at            int // the item at the bottom edge
	row           int // rows of it above the edge; 0 only for an item without rows
	out           []string
}

// NewList makes one that follows the end. count says how many items there are; rows
// draws one of them, and is expected to keep what it drew. Items are only added or
// taken away at the end; they may change, and may have no rows.
func NewList(count func() int, rows func(i, width int) []string) *List {
	return &List{count: count, rows: rows, follow: true, width: defaultWidth, height: 1}
}

// Resize sets the size of the window, in columns and rows. Who reads keeps the place:
// the same share of the item at the bottom edge stays above it.
func (l *List) Resize(width, height int) {
	width, height = max(width, 1), max(height, 1)
	if width != l.width && !l.follow && l.at < l.count() {
		l.Keep(func() { l.width = width })
	}
	l.width, l.height = width, height
	l.settle()
}

// Keep lets items change their heights, as expanding them does, and keeps the place.
func (l *List) Keep(change func()) {
	l.clamp()
	if l.follow || l.count() == 0 {
		change()
		return
	}
	before := l.len(l.at)
	change()
	if after := l.len(l.at); before > 0 {
		l.row = min(max((l.row*after+before/2)/before, min(1, after)), after)
	} else {
		l.row = after
	}
	l.settle()
}

// Follow goes to the end, and stays there as items are added.
func (l *List) Follow() { l.follow = true }

// Following reports whether the window stays at the end.
func (l *List) Following() bool { return l.follow }

// ScrollBy moves the window by n rows, down if n is positive. At the end it follows.
func (l *List) ScrollBy(n int) {
	if l.clamp(); l.count() == 0 || l.follow && n >= 0 {
		return
	}
	if l.follow {
		l.follow = false
		l.at = l.count() - 1
		l.row = l.len(l.at)
	}
	if n < 0 {
		l.up(-n)
	} else {
		l.down(n)
	}
	l.settle()
}

// JumpTo puts a row of an item at the top edge, as far as there are rows below it.
func (l *List) JumpTo(item, row int) {
	if l.count() == 0 {
		return
	}
	l.follow = false
	l.at = min(max(item, 0), l.count()-1)
	l.row = min(max(row, 0), max(l.len(l.at)-1, 0)) // above the top edge
	l.down(l.height)
	l.settle()
}

// Top is the item at the top edge and its row there.
func (l *List) Top() (item, row int) {
	l.clamp()
	at, edge := l.bottom()
	left := l.height
	for i := at; i >= 0; i-- {
		n := edge
		if i != at {
			n = l.len(i)
		}
		if n >= left {
			return i, n - left
		}
		left -= n
	}
	for item < at && l.len(item) == 0 { // all is seen: from the first row on
		item++
	}
	return item, 0
}

// View is the rows of the window: as many as it is high. They are the list's, and
// hold until its next call.
func (l *List) View() []string {
	l.clamp()
	if cap(l.out) < l.height {
		l.out = make([]string, l.height)
	}
	out := l.out[:l.height]
	y := l.height
	at, edge := l.bottom()
	for i := at; i >= 0 && y > 0; i-- {
		rows := l.rows(i, l.width)
		if i == at {
			rows = rows[:min(edge, len(rows))]
		}
		n := min(len(rows), y)
		copy(out[y-n:y], rows[len(rows)-n:])
		y -= n
	}
	if y > 0 { // what is short stands at the top
		copy(out, out[y:])
		clear(out[l.height-y:])
	}
	return out
}

// Find is the next row behind a place that match accepts, or before it if back is set.
// has may rule out an item without drawing it.
func (l *List) Find(item, row int, back bool, has func(item int) bool, match func(row string) bool) (int, int, bool) {
	step := 1
	if back {
		step = -1
	}
	for i := item; i >= 0 && i < l.count(); i += step {
		if has != nil && !has(i) {
			continue
		}
		rows := l.rows(i, l.width)
		k, end := 0, len(rows)
		if back {
			k, end = len(rows)-1, -1
		}
		for ; k*step < end*step; k += step {
			if (i != item || (k-row)*step > 0) && match(rows[k]) {
				return i, k, true
			}
		}
	}
	return 0, 0, false
}

// Position is where the window is, from 0 to 1, by items: what a scroll bar shows.
func (l *List) Position() float64 {
	if l.follow || l.count() < 2 {
		return 1
	}
	return float64(min(l.at, l.count()-1)) / float64(l.count()-1)
}

func (l *List) len(i int) int { return len(l.rows(i, l.width)) }

// bottom is the anchor.
func (l *List) bottom() (at, row int) {
	if !l.follow || l.count() == 0 {
		return min(l.at, l.count()-1), l.row
	}
	at = l.count() - 1
	return at, l.len(at)
}

// clamp puts the anchor back on an item, after items went away.
func (l *List) clamp() {
	if l.follow || l.at < l.count() {
		return
	}
	l.follow = true
}

func (l *List) up(n int) {
	for {
		if l.row-n >= 1 {
			l.row -= n
			return
		}
		if l.at == 0 {
			l.row = min(1, l.row)
			return
		}
		n -= l.row
		l.at--
		l.row = l.len(l.at)
	}
}

func (l *List) down(n int) {
	for {
		have := l.len(l.at)
		if l.row+n <= have {
			l.row += n
			break
		}
		n -= have - l.row
		if l.at == l.count()-1 {
			l.row = have
			break
		}
		l.at++
		l.row = 0
	}
}

// settle keeps the window full: it does not begin above the first row, and at the end
// it follows.
func (l *List) settle() {
	if l.follow || l.count() == 0 {
		return
	}
	have := min(l.row, l.len(l.at))
	l.row = have
	for i := l.at - 1; i >= 0 && have < l.height; i-- {
		have += l.len(i)
	}
	if have < l.height {
		l.down(l.height - have)
	}
	for i := l.at; ; i++ { // at the end, but for items without rows?
		if i == l.at && l.row < l.len(i) || i > l.at && l.len(i) > 0 {
			return
		}
		if i == l.count()-1 {
			l.follow = true
			return
		}
	}
}
