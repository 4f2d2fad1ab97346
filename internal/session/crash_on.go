//go:build crashtest

package session

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// crashWhen and crashSeq come from DSH_CRASH="before:N" or "after:N": the process
// kills itself just before or after the write(2) that contains the event with seq N.
var crashWhen, crashSeq = readCrash(os.Getenv("DSH_CRASH"))

func readCrash(s string) (string, int) {
	when, n, ok := strings.Cut(s, ":")
	seq, err := strconv.Atoi(n)
	if !ok || err != nil {
		return "", -1
	}
	return when, seq
}

// crashPoint kills the process if the write of events first to last is the one.
func crashPoint(when string, first, last int) {
	if when == crashWhen && first <= crashSeq && crashSeq <= last {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}
