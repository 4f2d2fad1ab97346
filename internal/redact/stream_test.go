package redact

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

var testValues = []Value{{"API key", "sk-own-0123456789"}, {"value of PW", "hunter\"22/öö+x"}, {"value of PW2", "hunter\"22/öö+xyz"}}

// everything is all planted secrets among ordinary text.
func everything() string {
	var b strings.Builder
	for i, p := range planted {
		fmt.Fprintf(&b, "%s\n%s\n", ordinary[i%len(ordinary)], p.text)
	}
	for _, v := range testValues {
		for _, f := range forms(v.Text) {
			b.WriteString("x=" + f + "\n")
		}
	}
	return b.String()
}

// inPieces is what a stream makes of a text, and the most that it held back.
func inPieces(r *Redactor, text []byte, cut func(i int) int) (string, int) {
	s := r.Stream()
	var out bytes.Buffer
	held := 0
	for i := 0; len(text) > 0; i++ {
		n := min(max(cut(i), 1), len(text))
		out.Write(s.Next(text[:n], false))
		held = max(held, s.Held())
		text = text[n:]
	}
	out.Write(s.Next(nil, true))
	return out.String(), held
}

func TestStreamEqualsWholeForEverySplit(t *testing.T) {
	t.Parallel()
	r := New(testValues)
	text := []byte(everything())
	whole, n := r.Text(string(text))
	if n < len(planted) {
		t.Fatalf("%d secrets found of %d", n, len(planted))
	}
	for at := range text {
		s := r.Stream()
		got := string(s.Next(text[:at], false))
		if got += string(s.Next(text[at:], true)); got != whole {
			t.Fatalf("split at %d: %s", at, difference(got, whole))
		}
	}
	for size := 1; size < 40; size++ {
		got, held := inPieces(r, text, func(int) int { return size })
		if got != whole {
			t.Fatalf("pieces of %d: %s", size, difference(got, whole))
		}
		if held > MaxHeld {
			t.Errorf("pieces of %d: %d bytes held", size, held)
		}
	}
}

func difference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-30)
	return fmt.Sprintf("got %.80q, want %.80q", got[from:], want[from:])
}

// FuzzStream: whatever the text and the pieces, a stream yields what the whole yields,
// a second pass finds nothing, little is held, and no planted secret survives.
func FuzzStream(f *testing.F) {
	f.Add([]byte("plain"), uint8(3), uint8(0), uint16(2))
	f.Add([]byte(everything()), uint8(7), uint8(3), uint16(40))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\neyJ://sk-AKIA"), uint8(1), uint8(26), uint16(9))
	f.Add([]byte("sk-ant-sk-ant-eyJhbGci://a:b://Bearer Bearer _authToken="), uint8(2), uint8(16), uint16(20))
	r := New(testValues)
	f.Fuzz(func(t *testing.T, noise []byte, size, which uint8, at uint16) {
		p := planted[int(which)%len(planted)]
		secret := p.secret
		if secret == "" {
			secret = p.text
		}
		cut := int(at) % (len(noise) + 1)
		text := string(noise[:cut]) + "\n" + p.text + "\n" + string(noise[cut:])
		whole, _ := r.Text(text)
		if got, held := inPieces(r, []byte(text), func(i int) int { return (i*7+int(size))%int(max(size, 1)) + 1 }); got != whole {
			t.Fatalf("in pieces: %s", difference(got, whole))
		} else if held > MaxHeld {
			t.Fatalf("%d bytes held", held)
		}
		if again, n := r.Text(whole); n != 0 {
			t.Fatalf("the second pass found more: %s", difference(again, whole))
		}
		if !strings.Contains(string(noise), secret) && strings.Contains(whole, secret) {
			t.Fatalf("%q survives in %q", secret, whole)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	line := func(s string) []byte { return bytes.Repeat([]byte(s), 1+64<<10/len(s))[:64<<10] }
	for _, c := range []struct {
		name string
		text []byte
	}{
		{"yes", line("y\n")},
		{"log", line("2026-12-01T00:00:00Z INFO server: request id=550e8400-e29b-41d4-a716-446655440000 took 12ms\n")},
		{"urls", line("GET https://example.com/path?q=1 200\n")},
		{"dashes", line(strings.Repeat("-", 80) + "\n")},
		{"base64", line("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\n")},
		{"secrets", line("token ghp_" + body[:36] + " in line\n")},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := New(testValues).Stream()
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				s.Next(c.text, false)
			}
		})
	}
}

// BenchmarkAnswer is what a chunk of an answer costs: little, however long the answer
// is by then.
func BenchmarkAnswer(b *testing.B) {
	for _, before := range []int{0, 1 << 20} {
		b.Run(fmt.Sprintf("after=%d", before), func(b *testing.B) {
			s := ValuesOnly(testValues).Stream()
			s.Next(bytes.Repeat([]byte("word "), before/5), false)
			for b.Loop() {
				s.Next([]byte("word "), false)
			}
		})
	}
}
