package jobs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Revision is a state of the workspace, as far as it is known. Two that differ mean
// that a result which was made at the first may not hold at the second.
type Revision struct {
	Changes int               // dsh's own count of changes
	Edits   []string          // the files that it wrote itself, one for each change, in order
	Top     string            // the directory that git's names begin at; "" if nothing is known of it
	Head    string            // of git; "" if nothing is known of it
	Files   map[string]string // what git says differs from Head: by path, its state; nil if nothing is known
}

// maxStale is how many files a stale result names: enough to see what it is about.
const maxStale = 20

// String identifies a revision in the log: the counter, then git's side.
func (r Revision) String() string {
	if r.Changes == 0 && r.Head == "" && r.Files == nil {
		return ""
	}
	text := strconv.Itoa(r.Changes)
	if r.Files != nil {
		text += " " + r.Head + " " + r.digest()
	}
	return text
}

// Changed names what differs from r to now, at most maxStale entries: what git knows of,
// what dsh itself wrote, also where git does not look, and, where git says nothing, that
// commands ran.
func (r Revision) Changed(now Revision) []string {
	list := r.edited(now)
	if r.Files == nil || now.Files == nil {
		if len(list) == 0 && r.Changes != now.Changes {
			list = []string{"files that other commands may have changed"}
		}
		return atMost(list)
	}
	list = append(list, r.differing(now)...)
	slices.Sort(list)
	list = slices.Compact(list)
	if r.Head != now.Head {
		list = append([]string{"(git HEAD)"}, list...)
	}
	return atMost(list)
}

// edited are the files that dsh wrote meanwhile, each once, named as git names them.
func (r Revision) edited(now Revision) (list []string) {
	seen := map[string]bool{}
	for _, path := range now.Edits[min(len(r.Edits), len(now.Edits)):] {
		if seen[path] {
			continue
		}
		seen[path] = true
		if inside, ok := strings.CutPrefix(path, now.Top+"/"); ok && now.Top != "" {
			path = inside
		}
		list = append(list, path)
	}
	return list
}

// differing are the files whose states git sees to differ, in order.
func (r Revision) differing(now Revision) []string {
	changed := map[string]bool{}
	for path, state := range r.Files {
		if now.Files[path] != state {
			changed[path] = true
		}
	}
	for path, state := range now.Files {
		if r.Files[path] != state {
			changed[path] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

func atMost(list []string) []string {
	if len(list) > maxStale {
		list = append(list[:maxStale:maxStale], "and "+strconv.Itoa(len(list)-maxStale)+" more")
	}
	return list
}
