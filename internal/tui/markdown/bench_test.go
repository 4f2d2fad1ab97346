package markdown

import (
	"fmt"
	"strings"
	"testing"
)

// answer is a message of about n bytes, as models write them.
func answer(n int) string {
	part := strings.Join([]string{
		"The flake is in `expiry_test.go`: the clock is read **twice**, so a cart that is made in the same tick can look expired. Callers now pass the time once.",
		"测试不稳定的原因是时钟被读取了两次，因此在同一时刻创建的购物车可能看起来已经过期。",
		"## What changed\n- `Expired` takes the time\n- the sleep is gone\n  - it hid the race\n- see [the issue](https://example.com/issues/1)",
		"```go\nfunc (c *Cart) Expired(now time.Time) bool {\n\t// at the deadline it has passed\n\treturn !now.Before(c.ExpiresAt)\n}\n```",
		"| file | lines |\n|---|--:|\n| expiry.go | +4 |\n| expiry_test.go | -3 |",
	}, "\n\n") + "\n\n"
	return strings.Repeat(part, n/len(part)+1)[:n]
}

// chunk is what arrives between two frames at 30 frames a second from a fast model.
const chunk = "and so on, 中文 too. "

// BenchmarkAppend measures one chunk and the frame after it, at the end of a message
// of a given size: 31 KB must cost what 1 KB costs.
func BenchmarkAppend(b *testing.B) {
	for _, kb := range []int{1, 31, 300} {
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			b.ReportAllocs()
			text := answer(kb<<10) + "\n\n"
			r := New(Options{Width: 100, Theme: Ansi()})
			r.Append(text)
			r.Rows()
			left := 40
			for b.Loop() {
				if left--; left == 0 { // a new paragraph now and then
					r.Append("\n\nNext ")
					left = 40
				}
				r.Append(chunk)
				r.Rows()
			}
		})
	}
}

// BenchmarkMessage streams whole messages, a frame for every 33 bytes.
func BenchmarkMessage(b *testing.B) {
	for name, text := range map[string]string{
		"1KB": answer(1 << 10), "31KB": answer(31 << 10), "300KB": answer(300 << 10),
		"31KB-code": "```go\n" + strings.Repeat("func (c *Cart) Expired(now time.Time) bool { return true } // yes\n", 480),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r := New(Options{Width: 100, Theme: Ansi()})
				for rest := text; rest != ""; {
					n := min(33, len(rest))
					r.Append(rest[:n])
					r.Rows()
					rest = rest[n:]
				}
				r.Finish()
				r.Rows()
			}
		})
	}
}

// BenchmarkRender is what a change of the width costs.
func BenchmarkRender(b *testing.B) {
	text := answer(31 << 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Render(text, Options{Width: 100, Theme: Ansi()})
	}
}

func TestG10TheCostOfAChunkDoesNotGrow(t *testing.T) {
	cost := func(kb int) float64 {
		r := New(Options{Width: 100, Theme: Ansi()})
		r.Append(answer(kb<<10) + "\n\nThe end: ")
		r.Rows()
		return testing.AllocsPerRun(20, func() {
			r.Append("and 中文. ")
			r.Rows()
		})
	}
	if small, big := cost(1), cost(300); big > 1.5*small+10 {
		t.Errorf("a chunk costs %v allocations after 1 KB, %v after 300 KB", small, big)
	}
}

func TestG10OfAnOpenCodeBlockEveryLineIsFinal(t *testing.T) {
	t.Parallel()
	r := New(Options{Width: 40, Theme: Ansi()})
	r.Append("text\n\n```go\n")
	for i := range 100 {
		r.Append("x := `a")
		if got := len(r.Rows()); got != 3+i+1 {
			t.Fatalf("%d rows with line %d open", got, i)
		}
		r.Append("b`\n")
		if got := r.Settled(); got != 3+i+1 {
			t.Fatalf("%d rows are final after line %d", got, i)
		}
	}
}
