package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dsh/internal/session"
)

// BenchmarkInstructions is what a step pays after a file call: nothing has changed.
func BenchmarkInstructions(b *testing.B) {
	for _, dirs := range []int{3, 300} { // a turn's first step looks into all of them
		b.Run(fmt.Sprintf("dirs=%d", dirs), func(b *testing.B) {
			root, err := filepath.EvalSymlinks(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			var visited []string
			for i := range dirs {
				dir := filepath.Join(root, "internal", fmt.Sprint("package", i))
				if err := os.MkdirAll(dir, 0o755); err != nil {
					b.Fatal(err)
				}
				visited = append(visited, dir)
			}
			if err := os.WriteFile(filepath.Join(root, "AGENTS.md"), []byte(strings.Repeat("Do this, not that.\n", 500)), 0o644); err != nil {
				b.Fatal(err)
			}
			in := Instructions{User: filepath.Join(root, "none"), Root: root, Cwd: root}
			m, _, _ := in.Message(nil, visited)
			var known session.Instructions
			known.Apply(&session.Event{Data: session.UserMessage{Message: m}})
			if len(known) != 1 {
				b.Fatalf("known %+v", known)
			}
			for b.Loop() {
				if _, ok, err := in.Message(known, visited); ok || err != nil {
					b.Fatal("told again", err)
				}
			}
		})
	}
}
