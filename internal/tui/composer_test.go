package tui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dsh/internal/termtext"
)

// newAt is a composer with typed text, the caret at its end.
func newAt(text string) *Composer {
	c := NewComposer(nil)
	c.SetDraft(Draft{Parts: []Part{{Text: text}}})
	return c
}

// clusters are units for the tests: none joins the one before it, whatever it is.
var clusters = []string{
	"a", "b", "word", " ", "  ", "_x1", ".", "/", "-", "é", "e\u0301", "你", "好", "。", "「", "かな", "カナ", "한글", "👩‍👩‍👧", "🇩🇪", "👍🏽", "❤️",
	"\t", "𝒳", "ไทย", "ع",
}

// oracle is a text as units and a caret, on which every operation is obvious.
type oracle struct {
	units []string
	at    int
}

func (o *oracle) text() string { return strings.Join(o.units, "") }

func (o *oracle) insert(units ...string) {
	o.units = slices.Insert(o.units, o.at, units...)
	o.at += len(units)
}

func (o *oracle) lineStart() int {
	i := o.at
	for i > 0 && o.units[i-1] != "\n" {
		i--
	}
	return i
}

func (o *oracle) lineEnd() int {
	i := o.at
	for i < len(o.units) && o.units[i] != "\n" {
		i++
	}
	return i
}

// unitsOf divides one piece of the list above.
func unitsOf(piece string) []string {
	var units []string
	for piece != "" {
		cluster, _, _ := termtext.Cluster(piece)
		units = append(units, cluster)
		piece = piece[len(cluster):]
	}
	return units
}

// step does one random operation on both.
func (o *oracle) step(c *Composer, rnd *rand.Rand) string {
	switch rnd.IntN(14) {
	case 0, 1, 2, 3:
		piece := clusters[rnd.IntN(len(clusters))]
		c.Type(piece)
		o.insert(unitsOf(piece)...)
		return "type " + piece
	case 4:
		c.Newline()
		o.insert("\n")
	case 5:
		c.DeleteBack()
		if o.at > 0 {
			o.at--
			o.units = slices.Delete(o.units, o.at, o.at+1)
		}
	case 6:
		c.Delete()
		if o.at < len(o.units) {
			o.units = slices.Delete(o.units, o.at, o.at+1)
		}
	case 7:
		c.Left()
		o.at = max(o.at-1, 0)
	case 8:
		c.Right()
		o.at = min(o.at+1, len(o.units))
	case 9:
		c.LineStart()
		o.at = o.lineStart()
	case 10:
		c.LineEnd()
		o.at = o.lineEnd()
	case 11:
		c.KillToEnd()
		end := o.lineEnd()
		if end == o.at {
			end = min(end+1, len(o.units))
		}
		o.units = slices.Delete(o.units, o.at, end)
	case 12:
		c.KillToStart()
		start := o.lineStart()
		if start == o.at {
			start = max(start-1, 0)
		}
		o.units = slices.Delete(o.units, start, o.at)
		o.at = start
	case 13:
		text := strings.Repeat("two\nlines ", 1+rnd.IntN(8))
		c.Paste(text)
		if strings.Count(text, "\n") < chipLines-1 {
			o.insert(strings.Split(text, "")...)
		} else {
			o.insert(text)
		}
		return "paste"
	}
	return ""
}

// joined reports whether two neighbours became one cluster, so that the oracle's units
// are no longer the composer's.
func (o *oracle) joined() bool {
	for i := 1; i < len(o.units); i++ {
		a, b := o.units[i-1], o.units[i]
		if a == "\n" || b == "\n" || len(a) > 100 || len(b) > 100 {
			continue
		}
		if cluster, _, _ := termtext.Cluster(a + b); cluster != a {
			return true
		}
	}
	return false
}

func TestComposerEditsAsAPlainTextWould(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		c, o := NewComposer(nil), &oracle{}
		for n := range 80 {
			did := o.step(c, rnd)
			if o.joined() {
				break
			}
			before := c.expand(c.slice(place{}, c.cur))
			if c.Text() != o.text() || before != strings.Join(o.units[:o.at], "") {
				t.Fatalf("seed %d step %d (%s):\n got %q, caret behind %q\nwant %q, caret behind %q",
					seed, n, did, c.Text(), before, o.text(), strings.Join(o.units[:o.at], ""))
			}
		}
	}
}

// state is what undo has to bring back.
func (c *Composer) state() string {
	return fmt.Sprintf("%q %v %v", strings.Join(c.lines, "\n"), c.cur, c.head)
}

func TestUndoReturnsEveryState(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		c := NewComposer(nil)
		after := []string{""} // by number of steps, what they led to
		before := []string{}  // by number of steps, what the next one began with
		for range 100 {
			was, n := c.state(), len(c.undos)
			randomEdit(c, rnd)
			if len(c.undos) > n {
				before = append(before[:n], was)
			}
			after = append(after[:min(len(c.undos), len(after))], c.state())
		}
		steps := len(c.undos)
		var redone []string
		for n := steps - 1; n >= 0; n-- {
			redone = append(redone, strings.Join(c.lines, "\n"))
			if !c.Undo() || c.state() != before[n] {
				t.Fatalf("seed %d: undo to step %d gives %s, want %s", seed, n, c.state(), before[n])
			}
		}
		if !c.Empty() || c.Undo() {
			t.Fatalf("seed %d: there is more to undo: %s", seed, c.state())
		}
		for _, want := range slices.Backward(redone) {
			if !c.Redo() || strings.Join(c.lines, "\n") != want {
				t.Fatalf("seed %d: redo gives %q, want %q", seed, strings.Join(c.lines, "\n"), want)
			}
		}
		if c.Redo() {
			t.Fatalf("seed %d: there is more to redo", seed)
		}
	}
}

// randomEdit does any operation but undo.
func randomEdit(c *Composer, rnd *rand.Rand) {
	ops := EditOps()
	switch rnd.IntN(5) {
	case 0, 1:
		c.Type(clusters[rnd.IntN(len(clusters))])
	case 2:
		c.Paste(strings.Repeat("some pasted text\n", 1+rnd.IntN(20)))
	default:
		for {
			if op := ops[rnd.IntN(len(ops))]; op != "undo" && op != "redo" {
				c.Edit(op)
				return
			}
		}
	}
}

func TestUndoTakesBackWords(t *testing.T) {
	t.Parallel()
	c := NewComposer(nil)
	for _, r := range "fix the test" {
		c.Type(string(r))
	}
	for _, want := range []string{"fix the ", "fix ", ""} {
		c.Undo()
		if c.Text() != want {
			t.Errorf("got %q, want %q", c.Text(), want)
		}
	}
	c.Type("abc")
	c.DeleteBack()
	c.DeleteBack()
	c.Undo()
	if c.Text() != "abc" {
		t.Errorf("deleting together is taken back together: got %q", c.Text())
	}
}

func TestUndoIsBounded(t *testing.T) {
	t.Parallel()
	c := NewComposer(nil)
	for range 3 * maxUndo {
		c.Newline()
	}
	if len(c.undos) > maxUndo {
		t.Errorf("%d steps are kept", len(c.undos))
	}
	big := strings.Repeat("x", maxUndoBytes/2)
	for range 4 {
		c.SetText(big)
		c.SetText("")
	}
	size := 0
	for _, ch := range c.undos {
		size += len(ch.removed) + len(ch.inserted)
	}
	if size > maxUndoBytes {
		t.Errorf("%d bytes are kept", size)
	}
	if !c.Undo() {
		t.Error("the last step cannot be undone")
	}
}

func TestWordMoves(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"fix internal/cart_x.go now": "fix| internal|/cart_x|.go| now|",
		"看看 internal 文件かなカナ":         "看看| internal| 文件|かな|カナ|",
		"a\n\n  b -- c":              "a|\n\n  b| -- c|",
		"안녕 세상":                      "안녕| 세상|",
		"...":                        "...|",
	} {
		c := newAt(text)
		c.TextStart()
		var b strings.Builder
		for from := c.cur; ; from = c.cur {
			c.WordRight()
			if c.cur == from {
				break
			}
			b.WriteString(c.slice(from, c.cur) + "|")
		}
		if b.String() != want {
			t.Errorf("right in %q: got %q, want %q", text, b.String(), want)
		}
	}
	c := newAt("fix  internal/cart.go -- 文件かな.")
	var stops []string
	for from := c.cur; ; from = c.cur {
		c.WordLeft()
		if c.cur == from {
			break
		}
		stops = append(stops, c.slice(c.cur, from))
	}
	if got := strings.Join(stops, "|"); got != "かな.|文件|go -- |cart.|internal/|fix  " {
		t.Errorf("left: %q", got)
	}
}

func TestKillRing(t *testing.T) {
	t.Parallel()
	c := newAt("one two three\nfour")
	c.TextStart()
	c.LineEnd()
	c.KillWordBack()
	c.KillWordBack() // together with the one before
	if c.Text() != "one \nfour" {
		t.Fatalf("got %q", c.Text())
	}
	c.LineStart()
	c.KillToEnd()
	c.KillToEnd() // the line break too
	c.Yank()
	if c.Text() != "one \nfour" {
		t.Errorf("yank: %q", c.Text())
	}
	c.YankOlder()
	if c.Text() != "two threefour" {
		t.Errorf("older: %q", c.Text())
	}
	c.YankOlder() // around
	if c.Text() != "one \nfour" {
		t.Errorf("around: %q", c.Text())
	}
	c.Left()
	c.YankOlder()
	if c.Text() != "one \nfour" {
		t.Errorf("older after a move: %q", c.Text())
	}
	c.Reset()
	c.Yank()
	if c.Text() != "one \n" {
		t.Errorf("after reset: %q", c.Text())
	}
	for range 3 * maxKills {
		c.Type("x")
		c.KillToStart()
		c.Left()
	}
	if len(c.kills.texts) > maxKills {
		t.Errorf("%d are kept", len(c.kills.texts))
	}
}

func TestKilledChipComesBack(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 20)
	c := NewComposer(nil)
	c.Paste(long)
	c.KillToStart()
	c.Reset()
	c.Type("x ")
	c.Yank()
	if c.Text() != "x "+long {
		t.Errorf("got %d bytes", len(c.Text()))
	}
	c.KillToStart()
	c.kills = killRing{}
	c.Reset()
	if len(c.chips) != 0 {
		t.Errorf("%d pastes are kept that nothing refers to", len(c.chips))
	}
}

func TestVerticalMovesKeepTheColumn(t *testing.T) {
	t.Parallel()
	c := newAt("a long first line\nxy\n你好世界 third line")
	c.View(80, 8)
	c.TextStart()
	for range 7 {
		c.Right()
	}
	for _, want := range []place{{1, 2}, {2, 9}, {1, 2}, {0, 7}} {
		if want.row > c.cur.row {
			c.Edit("down")
		} else {
			c.Edit("up")
		}
		if c.cur != want {
			t.Errorf("at %v, want %v", c.cur, want)
		}
	}
	if got := c.Edit("up"); got != HistoryPrev {
		t.Errorf("above the first row: %v", got)
	}
	c.TextEnd()
	if got := c.Edit("down"); got != HistoryNext {
		t.Errorf("below the last row: %v", got)
	}
}

func TestTKEY1NewLineKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"shift+enter", "alt+enter", "ctrl+j"} {
		c := newAt("a")
		if got := c.Key(key); got != Done || c.Text() != "a\n" {
			t.Errorf("%s: %v, %q", key, got, c.Text())
		}
	}
	c := newAt(`a\`)
	if got := c.Key("enter"); got != Done || c.Text() != "a\n" {
		t.Errorf("backslash and enter: %v, %q", got, c.Text())
	}
	if got := c.Key("enter"); got != Send || c.Text() != "a\n" {
		t.Errorf("enter: %v, %q", got, c.Text())
	}
	c.Undo()
	if c.Text() != `a\` {
		t.Errorf("undo: %q", c.Text())
	}
}

func TestTKEY2EditKeys(t *testing.T) {
	t.Parallel()
	bound := map[string]bool{}
	for key, op := range EditKeys() {
		if edits[op] == nil {
			t.Errorf("%s is bound to %q, which is no operation", key, op)
		}
		bound[op] = true
	}
	for _, op := range EditOps() {
		if !bound[op] {
			t.Errorf("no key does %q", op)
		}
	}
	keys := EditKeys()
	keys["enter"] = "undo"
	if EditKeys()["enter"] != "enter" {
		t.Error("the keys are shared with the caller")
	}
	c := NewComposer(nil)
	if c.Key("f5") != Ignored || c.Edit("no such") != Ignored || c.Key("字") != Done || c.Text() != "字" {
		t.Errorf("got %q", c.Text())
	}
}
