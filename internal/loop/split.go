package loop

import (
	"dsh/internal/llm"
	"dsh/internal/session"
)

// splitAt is how many nodes from the head a summary stands for: all but the newest that
// make up keep, no more than fit into room, and no call without its result. The last
// node always stays. 0: there is nothing to summarise. sizes are the nodes' tokens.
func splitAt(nodes []session.Node, sizes []int, keep, room int) int {
	limit := len(nodes) - 1
	for kept := 0; limit >= 0; limit-- {
		if kept += sizes[limit]; kept >= keep {
			break
		}
	}
	at, sum := 0, 0
	open := map[string]bool{}
	for i := range max(limit, 0) {
		if sum += sizes[i]; sum > room {
			break
		}
		pair(open, nodes[i].Message)
		if len(open) == 0 {
			at = i + 1
		}
	}
	for i := range at {
		if !session.IsCompaction(nodes[i].Message) {
			return at
		}
	}
	return 0 // summaries alone: another one says no more
}

// pair follows the calls that wait for their result. What an earlier answer called
// for and never got, it will not get: logs of others have that.
func pair(open map[string]bool, m *llm.Message) {
	if m.Role == llm.Assistant {
		clear(open)
	}
	for i := range m.Content {
		switch b := &m.Content[i]; b.Type {
		case llm.ToolCall:
			open[b.ID] = true
		case llm.ToolResult:
			delete(open, b.ToolCallID)
		}
	}
}

// newest is the place from which on the nodes make up keep.
func newest(sizes []int, keep int) int {
	i := len(sizes)
	for kept := 0; i > 0 && kept < keep; {
		i--
		kept += sizes[i]
	}
	return i
}

// measure is the tokens of each node.
func (c *compaction) measure(nodes []session.Node) []int {
	sizes := make([]int, len(nodes))
	for i, n := range nodes {
		sizes[i] = c.a.d.meter.scaled(messageSize(n.Message))
	}
	return sizes
}

func total(sizes []int) int {
	n := 0
	for _, s := range sizes {
		n += s
	}
	return n
}
