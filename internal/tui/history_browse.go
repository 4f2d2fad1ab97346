package tui

import "strings"

// browse is the composer looking at older messages: each has a text of its own, which
// can be edited, and the draft is one of them.
type browse struct {
	entries []Entry
	at      int             // the entry in the composer, -1 for the draft
	texts   map[int]*buffer // those that were looked at
}

// Browsing reports whether an older message stands in the composer.
func (c *Composer) Browsing() bool { return c.browse != nil && c.browse.at >= 0 }

// Older puts the next older message into the composer, of those that begin with the
// draft. The draft stays as it is, and so does what was changed on the way. It reports
// whether there was an older one. An error means that the history file could not be
// read: then only what this process sent is there.
func (c *Composer) Older() (bool, error) {
	if c.history == nil {
		return false, nil
	}
	var err error
	if c.browse == nil || c.browse.at < 0 {
		prefix := c.Text()
		err = c.history.refresh()
		entries := c.history.list(false, func(text string) bool {
			return text != prefix && strings.HasPrefix(text, prefix)
		})
		c.browse = &browse{entries: entries, at: -1, texts: map[int]*buffer{}}
	}
	if c.browse.at+1 >= len(c.browse.entries) {
		return false, err
	}
	c.look(c.browse.at + 1)
	return true, err
}

// Newer puts the next newer message into the composer, the draft after the newest. It
// reports whether an older one stood there.
func (c *Composer) Newer() bool {
	if !c.Browsing() {
		return false
	}
	c.look(c.browse.at - 1)
	return true
}

func (c *Composer) look(at int) {
	c.begin(opOther)
	width := c.rows.width
	c.browse.texts[c.browse.at] = c.buffer
	c.browse.at = at
	if b, seen := c.browse.texts[at]; seen {
		c.buffer = b
		c.rows.setWidth(width)
	} else {
		e := c.browse.entries[at]
		text, _ := sanitise(e.Text)
		c.buffer = newBuffer(width)
		c.start(text, e.Literal)
	}
	c.goal, c.sealed, c.top = -1, true, 0
}

// Aside is what was changed on the way through older messages, and the draft, where
// they do not stand in the composer: what a Reset would lose. In no order.
func (c *Composer) Aside() (texts []string) {
	if c.browse == nil {
		return nil
	}
	for at, b := range c.browse.texts {
		text := c.expand(strings.Join(b.lines, "\n"))
		if at == c.browse.at || strings.TrimSpace(text) == "" {
			continue
		}
		if at >= 0 {
			if entry, _ := sanitise(c.browse.entries[at].Text); entry == text {
				continue
			}
		}
		texts = append(texts, text)
	}
	return texts
}
