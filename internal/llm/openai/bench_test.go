package openai

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkStream(b *testing.B) {
	for _, n := range []int{200, 20_000} {
		b.Run(fmt.Sprintf("chunks=%d", n), func(b *testing.B) {
			c := newClient(b, "deepseek", serving(strings.Repeat(cc(`{"content":" word"}`), n)+ff("stop")+dd))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range c.Stream(b.Context(), ask("hi")) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/chunk")
		})
	}
}
