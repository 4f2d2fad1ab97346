package tui

// killRing keeps what was killed, the newest last.
type killRing struct {
	texts []string // with the marks of chips
	back  int      // how far the last yank went back
	at    span     // what the last yank inserted
}

// maxKills bounds the ring, as in the shells people know.
const maxKills = 60

func (c *Composer) killTo(from, to place, forward bool) {
	again := c.last == opKill
	c.begin(opKill)
	c.sealed = true
	if from == to {
		return
	}
	text, n := c.slice(from, to), len(c.kills.texts)
	switch {
	case !again || n == 0:
		c.kills.texts = append(c.kills.texts, text)
		if n >= maxKills {
			c.kills.texts = c.kills.texts[1:]
		}
	case forward:
		c.kills.texts[n-1] += text
	default:
		c.kills.texts[n-1] = text + c.kills.texts[n-1]
	}
	c.replace(from, to, "", opKill)
}

// KillToStart kills to the start of the line, or the line break before it.
func (c *Composer) KillToStart() {
	from := place{c.cur.row, 0}
	if c.cur.col == 0 {
		from = c.left(c.cur)
	}
	c.killTo(from, c.cur, false)
}

// KillToEnd kills to the end of the line, or the line break there.
func (c *Composer) KillToEnd() {
	to := place{c.cur.row, len(c.lines[c.cur.row])}
	if c.cur == to {
		to = c.right(c.cur)
	}
	c.killTo(c.cur, to, true)
}

// KillWordBack kills to the start of the word.
func (c *Composer) KillWordBack() { c.killTo(c.wordLeft(c.cur), c.cur, false) }

// KillWord kills to the end of the word.
func (c *Composer) KillWord() { c.killTo(c.cur, c.wordRight(c.cur), true) }

// Yank inserts what was killed last.
func (c *Composer) Yank() {
	c.begin(opYank)
	c.kills.back = 0
	c.kills.at = span{c.cur, c.cur}
	c.yank()
}

// YankOlder replaces what was just yanked by what was killed before it. It does
// nothing right after anything else.
func (c *Composer) YankOlder() {
	if c.last != opYank {
		return
	}
	c.begin(opYank)
	c.kills.back++
	c.yank()
}

func (c *Composer) yank() {
	n := len(c.kills.texts)
	if n == 0 {
		return
	}
	from, text := c.kills.at.from, c.kills.texts[n-1-c.kills.back%n]
	c.replace(from, c.kills.at.to, text, opYank)
	c.kills.at.to = endOf(from, text)
}
