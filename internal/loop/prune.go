package loop

import (
	"slices"

	"dsh/internal/llm"
	"dsh/internal/prompt"
	"dsh/internal/session"
)

// A text of a tool result that is longer than pruneOver characters keeps its head and
// its tail: what a command printed is most telling there, and the file that holds the
// whole is named in it.
const (
	pruneOver = 8192
	pruneHead = 4096
	pruneTail = 1024
)

// prune shortens the tool results before the newest messages.
func (c *compaction) prune() error {
	nodes := c.a.log.Surface()
	sizes := c.measure(nodes)
	var drafts []session.Draft
	for i, n := range nodes[:newest(sizes, c.keep)] {
		if n.Result == nil {
			continue
		}
		result, pruned := pruneResult(n.Result)
		if !pruned {
			continue
		}
		span := session.Span{Start: n.Seq, End: n.Seq}
		drafts = append(drafts,
			session.Draft{Data: session.CompactionPrune{ShadowedRange: span, ShadowedSeqs: []int{n.Seq}, ShadowedTokenCount: sizes[i]}},
			session.Draft{Data: result, Sources: []int{n.Seq}, CitesPrevious: true,
				Surface: &session.SurfaceOp{Replace: true, Start: n.Seq, End: n.Seq}})
	}
	if len(drafts) == 0 {
		return nil
	}
	return c.a.append(drafts...)
}

// pruneResult is the result with its long texts cut; what is no text stays in place.
func pruneResult(r *session.ToolResult) (out session.ToolResult, pruned bool) {
	out = *r
	out.Message.Content = slices.Clone(r.Message.Content)
	for i := range out.Message.Content {
		outer := &out.Message.Content[i]
		outer.Content = slices.Clone(outer.Content)
		for j := range outer.Content {
			b := &outer.Content[j]
			if b.Type != llm.Text {
				continue
			}
			if short := prompt.Clip(b.Text, pruneOver, pruneHead, pruneTail); short != b.Text {
				b.Text, pruned = short, true
			}
		}
	}
	return out, pruned
}
