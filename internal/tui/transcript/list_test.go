package transcript

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// stack is items for a list: item i is a text of words, one row or more of it at a
// width. Some have no rows.
type stack struct {
	words []int
	drawn int
	big   map[int]bool
}

func (s *stack) rows(i, width int) []string {
	s.drawn++
	n := s.words[i]
	if s.big[i] {
		n *= 3
	}
	var rows []string
	per := max(1, width/10)
	for k := 0; k < n; k += per {
		rows = append(rows, fmt.Sprintf("%d.%d", i, k/per))
	}
	return rows
}

func (s *stack) list() *List { return NewList(func() int { return len(s.words) }, s.rows) }

// flat is the rows of everything.
func (s *stack) flat(width int) []string {
	var all []string
	for i := range s.words {
		all = append(all, s.rows(i, width)...)
	}
	return all
}

// model is the flat list that a List must be a window of.
type model struct {
	top    int // index of the first row
	follow bool
}

func (m *model) clamp(all []string, height int) {
	end := max(0, len(all)-height)
	m.top = max(0, m.top)
	if m.follow || m.top >= end {
		m.top, m.follow = end, true
	}
}

func (m *model) view(all []string, height int) []string {
	out := make([]string, height)
	copy(out, all[m.top:min(len(all), m.top+height)])
	return out
}

// TestListIsAWindowOfTheFlatList: scrolling, jumping and growing give exactly the rows
// that a list of all rows would show.
func TestListIsAWindowOfTheFlatList(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := &stack{}
		for range r.IntN(40) {
			s.words = append(s.words, r.IntN(12)*r.IntN(2))
		}
		width, height := 10+r.IntN(50), 1+r.IntN(20)
		l, m := s.list(), &model{follow: true}
		l.Resize(width, height)
		for step := range 60 {
			all := s.flat(width)
			m.clamp(all, height)
			what := ""
			switch r.IntN(6) {
			case 0, 1, 2:
				n := r.IntN(2*height+1) - height
				what = fmt.Sprint("scroll ", n)
				l.ScrollBy(n)
				if n < 0 && len(all) > 0 {
					m.follow = false
				}
				m.top += n
			case 3:
				if len(s.words) > 0 {
					i := r.IntN(len(s.words))
					what = fmt.Sprint("jump ", i)
					l.JumpTo(i, 0)
					m.follow = false
					m.top = 0
					for k := range i {
						m.top += len(s.rows(k, width))
					}
				}
			case 4:
				what = "grow"
				s.words = append(s.words, r.IntN(8))
				all = s.flat(width)
			case 5:
				what = "follow"
				l.Follow()
				m.follow = true
			}
			m.clamp(all, height)
			if got, want := l.View(), m.view(all, height); !slices.Equal(got, want) || l.Following() != m.follow {
				t.Fatalf("seed %d, step %d, %s: following %v, want %v\n%v\nwant\n%v", seed, step, what, l.Following(), m.follow, got, want)
			}
			if item, row := l.Top(); len(all) > 0 {
				if rows := s.rows(item, width); row >= len(rows) || rows[row] != all[m.top] {
					t.Fatalf("seed %d, step %d, %s: the top is row %d of item %d, want %s", seed, step, what, row, item, all[m.top])
				}
			}
		}
	}
}

func TestG02ReadingIsNotDisturbedByWhatArrives(t *testing.T) {
	t.Parallel()
	s := &stack{words: []int{30, 30, 30}}
	l := s.list()
	l.Resize(10, 8)
	l.ScrollBy(-20)
	before := slices.Clone(l.View())
	for range 50 {
		s.words[len(s.words)-1] += 3
		s.words = append(s.words, 5)
		if got := l.View(); !slices.Equal(got, before) {
			t.Fatalf("the window moved from %v to %v", before, got)
		}
	}
	l.Follow()
	s.words = append(s.words, 1)
	if got := l.View(); got[len(got)-1] != fmt.Sprint(len(s.words)-1, ".0") {
		t.Errorf("following ends at %v", got)
	}
}

func TestTUI18ResizeKeepsThePlace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := &stack{}
		for range 30 {
			s.words = append(s.words, 1+r.IntN(20))
		}
		l := s.list()
		l.Resize(40, 10)
		l.ScrollBy(-r.IntN(80))
		at, _ := l.bottom()
		follow := l.Following()
		for range 20 {
			width, height := 10+r.IntN(90), 1+r.IntN(20)
			l.Resize(width, height)
			view := slices.Clone(l.View())
			if now, _ := l.bottom(); follow && !l.Following() || !follow && !l.Following() && now < at {
				t.Fatalf("seed %d: the anchor went from item %d to %d, following %v", seed, at, now, l.Following())
			}
			all := strings.Join(append(s.flat(width), make([]string, height)...), "\n") + "\n"
			if !strings.Contains("\n"+all, "\n"+strings.Join(view, "\n")+"\n") {
				t.Fatalf("seed %d: %v is no window of the rows", seed, view)
			}
			at, _ = l.bottom()
			follow = l.Following()
		}
	}
}

func TestListKeepsThePlaceWhenAnItemOpens(t *testing.T) {
	t.Parallel()
	s := &stack{words: []int{5, 10, 5, 5, 5}, big: map[int]bool{}}
	l := s.list()
	l.Resize(10, 5)
	l.JumpTo(1, 0)
	l.Keep(func() { s.big[1] = true })
	if item, row := l.Top(); item != 1 || row != 10 { // half of it was above the edge and still is
		t.Errorf("the top is row %d of item %d", row, item)
	}
	l.Keep(func() { s.words[1] = 0 })
	if view := l.View(); view[4] != "0.4" {
		t.Errorf("the window is %v", view)
	}
	s.words = s.words[:1]
	if view := l.View(); view[4] != "0.4" {
		t.Errorf("after items went away the window is %v", view)
	}
	s.words = nil
	for _, act := range []func(){func() { l.ScrollBy(-1) }, func() { l.JumpTo(3, 3) }, func() { l.Resize(20, 3) }, func() { l.Keep(func() {}) }, l.Follow} {
		act()
		if view := l.View(); strings.Join(view, "") != "" {
			t.Errorf("nothing shows as %v", view)
		}
	}
}

func TestListFind(t *testing.T) {
	t.Parallel()
	s := &stack{words: []int{3, 0, 4, 2, 3}}
	l := s.list()
	l.Resize(10, 2)
	asked := 0
	is := func(want ...string) func(string) bool {
		return func(row string) bool { asked++; return slices.Contains(want, row) }
	}
	for _, c := range []struct {
		item, row int
		back      bool
		match     func(string) bool
		want      string
	}{
		{0, -1, false, is("0.0", "2.1"), "0 0 true"}, {0, 0, false, is("0.0", "2.1"), "2 1 true"}, {2, 1, false, is("0.0", "2.1"), "0 0 false"},
		{4, 2, true, is("4.2", "2.1"), "2 1 true"}, {2, 1, true, is("0.2", "2.1"), "0 2 true"}, {0, 0, true, is("0.0"), "0 0 false"}, {9, 0, false, is("0.0"), "0 0 false"},
	} {
		item, row, ok := l.Find(c.item, c.row, c.back, nil, c.match)
		if got := fmt.Sprint(item, row, ok); got != c.want {
			t.Errorf("from %d.%d: %s, want %s", c.item, c.row, got, c.want)
		}
	}
	asked = 0
	if _, _, ok := l.Find(0, -1, false, func(i int) bool { return i == 3 }, is("3.1")); !ok || asked != 2 {
		t.Errorf("found %v after %d rows", ok, asked)
	}
}

func TestTUI13AFrameDrawsOnlyWhatIsSeen(t *testing.T) {
	t.Parallel()
	s := &stack{}
	for i := range 100_000 {
		s.words = append(s.words, 1+i%3)
	}
	l := s.list()
	for name, act := range map[string]func(){
		"resize": func() { l.Resize(80, 40) }, "view": func() { l.View() }, "scroll": func() { l.ScrollBy(-30) },
		"jump": func() { l.JumpTo(50_000, 0) }, "wider": func() { l.Resize(100, 40) }, "top": func() { l.Top() },
	} {
		s.drawn = 0
		if act(); s.drawn > 400 {
			t.Errorf("%s draws %d items for 40 rows", name, s.drawn)
		}
	}
	r := NewRenderer(nil)
	for i := range 30_000 {
		r.Rows(&Block{ID: ID{Seq: i}, Kind: User, State: Done, Text: "a row"}, Options{})
	}
	if n := len(r.cache.young) + len(r.cache.old); n > 2*maxCached {
		t.Errorf("%d blocks are kept", n)
	}
}
