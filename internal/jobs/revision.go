package jobs

import (
	"maps"
	"slices"
	"strconv"
)

// Revision is a state of the workspace, as far as it is known. Two that differ mean
// that a result which was made at the first may not hold at the second.
type Revision struct {
	Changes int               // dsh's own count of changes
	Named   []string          // the files that those named, in order of first change
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

// Changed names what differs from r to now, at most maxStale entries: files where git
// knows them, otherwise what dsh itself knows.
func (r Revision) Changed(now Revision) []string {
	if r.Files == nil || now.Files == nil {
		return r.counted(now)
	}
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
	list := slices.Sorted(maps.Keys(changed))
	if r.Head != now.Head {
		list = append([]string{"(git HEAD)"}, list...)
	}
	return atMost(list)
}

// counted is Changed where git says nothing.
func (r Revision) counted(now Revision) []string {
	if r.Changes == now.Changes {
		return nil
	}
	var list []string
	if n := len(r.Named); n <= len(now.Named) {
		list = slices.Clone(now.Named[n:])
	}
	if len(list) == 0 {
		list = []string{"files that other commands may have changed"}
	}
	return atMost(list)
}

func atMost(list []string) []string {
	if len(list) > maxStale {
		list = append(list[:maxStale:maxStale], "and "+strconv.Itoa(len(list)-maxStale)+" more")
	}
	return list
}
