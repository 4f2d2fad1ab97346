package session

import (
	"fmt"
	"strings"
	"testing"
)

// chunkHeavy writes a log of about size bytes that is nearly all chunk rows, as
// long sessions are.
func chunkHeavy(b *testing.B, size int) *Log {
	b.Helper()
	l := newLog(b)
	text := strings.Repeat("word ", 8)
	for n := 0; n < size; {
		turn := startTurn(b, l)
		var seqs []int
		for range 200 {
			for range 20 {
				seqs = append(seqs, mustAppend(b, l, delta2(turn, text))[0].Seq)
			}
			if err := l.write(nil); err != nil { // a row for each 20, as a window gives
				b.Fatal(err)
			}
		}
		mustAppend(b, l, answered(turn, seqs), Draft{Data: StepEnd{turn, 1}}, Draft{Data: TurnEnd{turn, EndReason{Kind: Completed}}})
		n = int(fileSize(b, l.path))
	}
	mustClose(b, l)
	return l
}

// BenchmarkOpen: resuming costs little for each superseded chunk.
func BenchmarkOpen(b *testing.B) {
	for _, mb := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("MB=%d", mb), func(b *testing.B) {
			l := chunkHeavy(b, mb<<20)
			b.SetBytes(fileSize(b, l.path))
			b.ReportAllocs()
			for b.Loop() {
				again, _, err := Open(l.root, l.path)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				mustClose(b, again)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkAppend: an append costs the same whatever came before.
func BenchmarkAppend(b *testing.B) {
	for _, history := range []int{10, 10000} {
		b.Run(fmt.Sprintf("history=%d", history), func(b *testing.B) {
			l := newLog(b)
			startTurn(b, l)
			for i := range history {
				mustAppend(b, l, Visible(UserMessage{said(fmt.Sprint(i), "hello")}))
			}
			b.ReportAllocs()
			for b.Loop() {
				mustAppend(b, l, Draft{Data: RequestContext{Provider: "p", Model: "m"}})
			}
		})
	}
}

// BenchmarkChunk: a streamed chunk is in memory at once and shares its write.
func BenchmarkChunk(b *testing.B) {
	l := newLog(b)
	turn := startTurn(b, l)
	b.ReportAllocs()
	for b.Loop() {
		mustAppend(b, l, delta2(turn, "a few words "))
	}
}

func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	line := titleLine("0", "5", "x") + "\n" + strings.Repeat(`{"type":"workspace/changed","seq":1,"time":5,"data":{"path":"x"}}`+"\n", 2000)
	for i := range 100 {
		put(b, root, fmt.Sprintf("s%d", i), "/p", line)
	}
	for b.Loop() {
		if list, err := List(root); err != nil || len(list) != 100 {
			b.Fatal(len(list), err)
		}
	}
}
