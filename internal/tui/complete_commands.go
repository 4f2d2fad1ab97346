package tui

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sahilm/fuzzy"
)

// CommandHelp is what the menu shows of a command.
type CommandHelp struct {
	Name   string // without "/"
	Args   string // a hint such as "[name] [effort]", "" if it takes none
	Help   string // what it does, in a few words
	Source string // "skill", "project", "mcp"; "" for our own
}

var (
	commandName  = regexp.MustCompile(`^/[a-z][a-z0-9_-]*$`)
	commandStart = regexp.MustCompile(`^/([a-z][a-z0-9_-]*)?$`)
	commandLine  = regexp.MustCompile(`(?s)^/([a-z][a-z0-9_-]*)(?:\s+(.*))?$`)
)

// ParseCommand reads a text that is a command: a name, and the rest without the spaces
// around it. A path such as "/etc/hosts is odd" is none.
func ParseCommand(text string) (name, args string, ok bool) {
	m := commandLine.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1], strings.TrimSpace(m[2]), true
}

// commandAtCaret is the name of a command that ends at the caret, at the start of a
// text that was typed.
func (c *Composer) commandAtCaret() word {
	if c.cur.row != 0 || c.cur.col > maxWord || c.Literal() {
		return word{}
	}
	line := c.lines[0][:c.cur.col]
	if !commandStart.MatchString(line) {
		return word{}
	}
	return word{at: span{place{}, c.cur}, kind: commandWord, query: line[1:]}
}

// ArgsHint is what the arguments of the command in the composer are, "" if the caret
// is not right behind its name or there is no such command.
func (p *Completion) ArgsHint(c *Composer) string {
	if p.Commands == nil || len(c.lines) > 1 || c.Literal() {
		return ""
	}
	name, spaces := strings.CutSuffix(c.lines[0], " ")
	if !spaces || c.cur.col != len(c.lines[0]) || !commandName.MatchString(name) {
		return ""
	}
	for _, h := range p.Commands() {
		if "/"+h.Name == name {
			return h.Args
		}
	}
	return ""
}

// matchCommands are the commands for a query: those whose name begins with it, then
// those whose name has its letters in order, then those whose help has it.
func matchCommands(query string, all []CommandHelp) []Item {
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.Name
	}
	var order []int
	add := func(i int) {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	for i, name := range names {
		if strings.HasPrefix(name, query) {
			add(i)
		}
	}
	for _, m := range fuzzy.Find(query, names) {
		add(m.Index)
	}
	for i, h := range all {
		if strings.Contains(strings.ToLower(h.Help), query) {
			add(i)
		}
	}
	items := make([]Item, 0, min(len(order), maxItems))
	for _, i := range order[:min(len(order), maxItems)] {
		items = append(items, Item{Text: "/" + names[i], Detail: all[i].Help, Source: all[i].Source})
	}
	return items
}

// maxSuggestions is how many commands are offered for one that does not exist.
const maxSuggestions = 3

// SuggestCommands are the names nearest to one that does not exist, the nearest first,
// at most three. Names that have little in common with it are left out.
func SuggestCommands(name string, all []CommandHelp) []string {
	type near struct {
		name string
		far  int
	}
	var found []near
	for _, h := range all {
		far := distance(name, h.Name)
		if strings.HasPrefix(h.Name, name) {
			far = 1
		}
		if far <= max(2, len(name)/2) {
			found = append(found, near{h.Name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.far - b.far })
	var names []string
	for _, n := range found[:min(len(found), maxSuggestions)] {
		names = append(names, n.name)
	}
	return names
}

// distance is how many letters have to be added, dropped, changed or swapped with the
// next one.
func distance(a, b string) int {
	before, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur := make([]int, len(b)+1)
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j]+cost, prev[j+1]+1, cur[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cur[j+1] = min(cur[j+1], before[j-1]+1)
			}
		}
		before, prev = prev, cur
	}
	return prev[len(b)]
}
