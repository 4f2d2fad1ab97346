package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dsh/internal/early"
)

// harmless are packages that import nothing, so that they may come before early,
// which waits for os; they read a CPU flag or two.
var harmless = map[string]bool{"github.com/klauspost/compress/internal/cpuinfo": true}

// TestVersionIsAnsweredFirst reads the runtime's own trace of package inits: the
// version must be printed before any third-party package, and any of ours but
// early, has run.
func TestVersionIsAnsweredFirst(t *testing.T) {
	t.Parallel()
	dsh := filepath.Join(t.TempDir(), "dsh")
	if out, err := exec.Command("go", "build", "-o", dsh, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(dsh, "--version")
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	var trace strings.Builder
	cmd.Stderr = &trace
	out, err := cmd.Output()
	if err != nil || string(out) != "dsh "+early.Version+"\n" {
		t.Fatalf("%q, %v", out, err)
	}
	seen := 0
	for line := range strings.Lines(trace.String()) {
		name, ok := strings.CutPrefix(line, "init ")
		if !ok {
			continue
		}
		seen++
		name, _, _ = strings.Cut(name, " ")
		first, _, _ := strings.Cut(name, "/")
		if (strings.Contains(first, ".") || first == "dsh") && !harmless[name] {
			t.Errorf("%s was initialised before the version was printed", name)
		}
	}
	if seen == 0 {
		t.Error("the trace names no package at all: the test sees nothing")
	}
}
