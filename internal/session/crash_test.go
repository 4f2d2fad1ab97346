//go:build crashtest

package session

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestACrashAroundAWriteLosesNothingAccepted kills a life before and after each
// write: the batch is missing as a whole, or there as a whole.
func TestACrashAroundAWriteLosesNothingAccepted(t *testing.T) {
	t.Parallel()
	const first = 2 // after the one stored event and the end-seed
	for seq := first; seq < first+8; seq++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s %d", when, seq), func(t *testing.T) {
				t.Parallel()
				l := closedLog(t)
				out, err := child(t, "crash", l, fmt.Sprintf("DSH_CRASH=%s:%d", when, seq)).Output()
				if err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("not killed: %v: %s", err, out)
				}
				want := seq &^ 1 // batches are pairs that begin at an even seq
				if when == "after" {
					want += 2
				}
				again, opened := mustOpen(t, l)
				if want > first {
					want++ // the end-seed of this life
				}
				if again.NextSeq() != want || opened.Cut.Bytes != 0 {
					t.Errorf("%d events, want %d; cut %d", again.NextSeq(), want, opened.Cut.Bytes)
				}
				accepted := -1
				if lines := strings.Fields(string(out)); len(lines) > 0 {
					accepted, _ = strconv.Atoi(lines[len(lines)-1])
				}
				if accepted >= again.NextSeq() {
					t.Errorf("event %d was accepted and is lost", accepted)
				}
				valid(t, l.path)
			})
		}
	}
}
