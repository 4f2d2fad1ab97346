package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dsh/internal/early"
)

// harmless are packages that import nothing, so that they may come before early,
// which waits for os; they read a CPU flag, or fill a small table.
var harmless = map[string]bool{
	"github.com/klauspost/compress/internal/cpuinfo": true,
	"github.com/charmbracelet/x/ansi/parser":         true,
}

// TestInitOrder: the version must be printed, and the launcher that every command
// runs under be at work, before any third-party package, and any of ours but early,
// has been initialised.
func TestInitOrder(t *testing.T) {
	t.Parallel()
	dsh := filepath.Join(t.TempDir(), "dsh")
	if out, err := exec.Command("go", "build", "-o", dsh, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Run("version", func(t *testing.T) {
		out, trace := initTrace(t, dsh, "--version")
		if out != "dsh "+early.Version+"\n" {
			t.Errorf("%q", out)
		}
		noHeavyInit(t, trace)
	})
	t.Run("launcher", func(t *testing.T) {
		// Without the pipes that dsh gives it, it ends at once.
		out, trace := initTrace(t, dsh, "__launch")
		if out != "" {
			t.Errorf("the launcher's argument is taken for something else: %q", out)
		}
		noHeavyInit(t, trace)
	})
}

// initTrace runs the binary with the runtime's own trace of package inits.
func initTrace(t *testing.T, dsh, arg string) (out, trace string) {
	t.Helper()
	cmd := exec.Command(dsh, arg)
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(stdout), stderr.String()
}

func noHeavyInit(t *testing.T, trace string) {
	t.Helper()
	seen := 0
	for line := range strings.Lines(trace) {
		name, ok := strings.CutPrefix(line, "init ")
		if !ok {
			continue
		}
		seen++
		name, _, _ = strings.Cut(name, " ")
		first, _, _ := strings.Cut(name, "/")
		if (strings.Contains(first, ".") || first == "dsh") && name != "dsh/internal/early" && !harmless[name] {
			t.Errorf("%s was initialised too early", name)
		}
	}
	if seen == 0 {
		t.Error("the trace names no package at all: the test sees nothing")
	}
}
