package files

import (
	"slices"
	"strings"
)

// item is what an index keeps of a path.
type item struct {
	path, lower string
	base        int    // where the name begins in lower
	letters     uint64 // which bytes are in lower, folded into 64 bits
	changed     bool
}

func newItem(path string, changed bool) item {
	lower := strings.ToLower(path)
	return item{
		path: path, lower: lower, changed: changed,
		base:    strings.LastIndexByte(strings.TrimSuffix(lower, "/"), '/') + 1,
		letters: letters(lower),
	}
}

func letters(s string) uint64 {
	var set uint64
	for i := range len(s) {
		set |= 1 << (s[i] % 64)
	}
	return set
}

// How well a path fits a query, the best first. Within one of these, those come first
// that fit more closely, then changed files, then recently used ones, then shorter ones.
const (
	fitsStart  = iota // the query begins the name, or the path up to its last "/"
	fitsName          // the name has it in one piece
	fitsPath          // the path has it in one piece
	fitsSpread        // the path has its letters in order
	fitsNot
)

// ranked is a candidate and what it is ordered by.
type ranked struct {
	*item
	fit    int
	recent int // 0 if it was not used, else the higher the later
	deep   int // "/" behind the query
	score  int // how closely the letters stand, negative
}

// Candidates are at most n files and directories that a query may mean, the best
// first, and how many there are. A query that ends in "/" is for what is in that
// directory. Case does not matter.
func (ix *Index) Candidates(query string, n int) (best []Candidate, total int) {
	query = strings.ToLower(strings.TrimPrefix(query, "./"))
	want, recent := letters(query), ix.recentRanks()
	shot := ix.shot.Load()
	var top []ranked
	for i := range shot.items {
		it := &shot.items[i]
		if it.letters&want != want {
			continue
		}
		r := it.fits(query)
		if r.fit == fitsNot {
			continue
		}
		total++
		r.recent = recent[it.path]
		at, _ := slices.BinarySearchFunc(top, r, order)
		if at < n {
			top = slices.Insert(top, at, r)
			top = top[:min(len(top), n)]
		}
	}
	for _, r := range top {
		best = append(best, Candidate{Path: r.path, Changed: r.changed, Recent: r.recent > 0})
	}
	return best, total
}

func (ix *Index) recentRanks() map[string]int {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ranks := make(map[string]int, len(ix.recent))
	for i, path := range ix.recent {
		ranks[path] = i + 1
	}
	return ranks
}

func (it *item) fits(query string) ranked {
	r := ranked{item: it}
	name := it.lower[it.base:]
	switch {
	case it.lower == query && strings.HasSuffix(query, "/"):
		r.fit = fitsNot // the directory that is looked into
	case query == "":
	case strings.HasPrefix(it.lower, query) && strings.Contains(query, "/"):
		r.deep = strings.Count(strings.TrimSuffix(it.lower[len(query):], "/"), "/")
	case strings.HasPrefix(name, query):
	case strings.Contains(name, query):
		r.fit = fitsName
	case strings.Contains(it.lower, query):
		r.fit = fitsPath
	default:
		r.fit, r.score = fitsSpread, it.spread(query)
		if r.score < 0 {
			r.fit = fitsNot
		}
		r.score = -r.score
	}
	return r
}

// spread is how closely the letters of a query stand in the path, read from its end:
// a letter counts more behind another one, and at the start of a word. -1 if they do
// not stand there in order.
func (it *item) spread(query string) int {
	score, at := 0, len(it.lower)
	for i := len(query) - 1; i >= 0; i-- {
		j := strings.LastIndexByte(it.lower[:at], query[i])
		if j < 0 {
			return -1
		}
		if j == at-1 && i < len(query)-1 {
			score += 2
		}
		if j == 0 || strings.IndexByte("/._- ", it.lower[j-1]) >= 0 {
			score += 3
		}
		if j >= it.base {
			score++
		}
		at = j
	}
	return score
}

// order compares two candidates: negative if a comes first.
func order(a, b ranked) int {
	changed := func(r ranked) int {
		if r.changed {
			return 0
		}
		return 1
	}
	for _, d := range [...]int{
		a.fit - b.fit, a.score - b.score, a.deep - b.deep, changed(a) - changed(b), b.recent - a.recent,
		len(a.path) - len(b.path),
	} {
		if d != 0 {
			return d
		}
	}
	return strings.Compare(a.path, b.path)
}
