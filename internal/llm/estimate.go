package llm

// callTokens is what the wire adds to a tool call, in tokens; on the upper side.
const callTokens = 20

// bytesPerToken is the measure of text of which only the length is known.
const bytesPerToken = 4

// ByteTokens estimates the tokens of so many bytes of text.
func ByteTokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// TokenBytes is the inverse of ByteTokens.
func TokenBytes(tokens int) int { return tokens * bytesPerToken }

// BlockTokens estimates the tokens of a message's content.
func BlockTokens(blocks []Block) int {
	n := 0
	for i := range blocks {
		b := &blocks[i]
		switch b.Type {
		case ToolCall:
			n += callTokens + TextTokens(b.Name) + TextTokens(b.Arguments)
		case ToolResult:
			n += BlockTokens(b.Content)
		default:
			n += TextTokens(b.Text)
		}
	}
	return n
}

// firstCJK is where the scripts begin whose characters are about a token each.
const firstCJK = 0x2E80

// TextTokens estimates the tokens of text: four characters of ASCII are a token, two
// of another alphabet, and each of CJK. What JSON escapes counts twice: code is full
// of it, and takes more tokens than prose.
func TextTokens(s string) int {
	quarters := 3 // rounds up
	for _, r := range s {
		switch {
		case r < ' ' || r == '"' || r == '\\':
			quarters += 2
		case r < 0x80:
			quarters++
		case r < firstCJK:
			quarters += 2
		default:
			quarters += 4
		}
	}
	return quarters / 4
}
