package files

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// automaton answers whether lines match a pattern, at the cost of a few instructions
// for each byte: a set of places in the program is a state, and what a byte leads to
// is found once. It is used by one goroutine.
type automaton struct {
	prog   *syntax.Prog
	states map[string]*state
	wide   int    // transitions in the maps of all states
	line   *state // at the beginning of a line
	inside *state // within one whose beginning is not known

	// Scratch of a step.
	next  []uint32
	stack []uint32
	seen  []uint32 // the round in which a place was last reached
	round uint32
}

// state is where a match may have come to before some character.
type state struct {
	ascii  [utf8.RuneSelf]*state // what each leads to, nil if not known yet
	wide   map[rune]*state
	places []uint32
	before byte // what kind of character stands before
}

// The kinds of what stands before a place, as far as assertions ask for it.
const (
	beforeOther byte = iota
	beforeWord
	beforeLine // nothing: it is the beginning of a line
)

// matched is the state in which a line is known to match.
var matched = &state{}

const (
	maxStates = 2_000  // 2 MB; then they are found anew
	maxWide   = 20_000 // transitions for other characters than ASCII, as much again
)

func newAutomaton(prog *syntax.Prog) *automaton {
	a := &automaton{prog: prog, seen: make([]uint32, len(prog.Inst))}
	a.forget()
	return a
}

func (a *automaton) forget() {
	a.states, a.wide = map[string]*state{}, 0
	start := []uint32{uint32(a.prog.Start)}
	a.line, a.inside = a.state(start, beforeLine), a.state(start, beforeOther)
}

func (a *automaton) state(places []uint32, before byte) *state {
	key := make([]byte, 0, 64)
	key = append(key, before)
	for _, p := range places {
		key = append(key, byte(p), byte(p>>8), byte(p>>16))
	}
	if s := a.states[string(key)]; s != nil {
		return s
	}
	s := &state{places: slices.Clone(places), before: before}
	a.states[string(key)] = s
	return s
}

// find is where it is first known that a line of text matches: a place in that line or
// at its end; -1 if none does. Text begins at the beginning of a line unless it is said
// to be inside of one, and ends at the end of one unless it is cut.
func (a *automaton) find(text []byte, inside, cut bool) int {
	s := a.line
	if inside {
		s = a.inside
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			to := s.wide[r]
			if to == nil {
				to = a.step(s, r)
			}
			if to == matched {
				return i
			}
			s = to
			i += size
			continue
		}
		to := s.ascii[c]
		if to == nil {
			to = a.step(s, rune(c))
		}
		if to == matched {
			return i
		}
		s = to
		i++
	}
	if !cut && (len(text) == 0 || text[len(text)-1] != '\n') && a.step(s, '\n') == matched {
		return len(text)
	}
	return -1
}

// step finds what a character leads to, and remembers it. It is matched if a match
// ends before the character.
func (a *automaton) step(s *state, r rune) *state {
	to := a.after(s, r)
	if r < utf8.RuneSelf {
		s.ascii[r] = to
		return to
	}
	if s.wide == nil {
		s.wide = map[rune]*state{}
	}
	s.wide[r] = to
	a.wide++
	return to
}

func (a *automaton) after(s *state, r rune) *state {
	holds := assertions(s.before, r)
	a.round++
	a.next = a.next[:0]
	for _, p := range s.places {
		if a.follow(p, holds, r) {
			return matched
		}
	}
	if len(a.states) >= maxStates || a.wide >= maxWide {
		a.forget()
	}
	if r == '\n' {
		return a.line
	}
	before := beforeOther
	if isWord(r) {
		before = beforeWord
	}
	a.next = append(a.next, uint32(a.prog.Start))
	slices.Sort(a.next)
	return a.state(slices.Compact(a.next), before)
}

// follow goes from a place to all that it leads to without a character, and from there
// over r. It reports whether that is the end of a match.
func (a *automaton) follow(from uint32, holds syntax.EmptyOp, r rune) bool {
	a.stack = append(a.stack[:0], from)
	for len(a.stack) > 0 {
		p := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.seen[p] == a.round {
			continue
		}
		a.seen[p] = a.round
		in := &a.prog.Inst[p]
		over := false
		switch in.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, in.Arg, in.Out)
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				a.stack = append(a.stack, in.Out)
			}
		case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			over = r != '\n'
		case syntax.InstRune, syntax.InstRune1:
			over = in.MatchRune(r)
		}
		if over {
			a.next = append(a.next, in.Out)
		}
	}
	return false
}

// assertions are those that hold between what stands before and a character.
func assertions(before byte, r rune) syntax.EmptyOp {
	holds := syntax.EmptyNoWordBoundary
	if (before == beforeWord) != isWord(r) {
		holds = syntax.EmptyWordBoundary
	}
	if before == beforeLine {
		holds |= syntax.EmptyBeginLine
	}
	if r == '\n' {
		holds |= syntax.EmptyEndLine
	}
	return holds
}

func isWord(r rune) bool { return syntax.IsWordChar(r) }
