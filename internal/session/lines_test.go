package session

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestLinesForward(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*readSize+17)
	text := "a\n\n" + long + "\nb\ntorn"
	lr := newLineReader(strings.NewReader(text), 0, int64(len(text)))
	var got []string
	for {
		line, ended, err := lr.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if ended == (string(line) == "torn") {
			t.Errorf("line %d ended = %v", lr.number, ended)
		}
		got = append(got, string(line))
	}
	if want := []string{"a", "", long, "b", "torn"}; !slices.Equal(got, want) {
		t.Errorf("wrong lines: %d", len(got))
	}
	if lr.offset != int64(len(text)) || lr.number != 5 {
		t.Errorf("offset %d, number %d", lr.offset, lr.number)
	}
}

func TestLinesBackwardAreThoseForwardReversed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", readSize)
	for _, text := range []string{
		"", "one", "one\n", "one\ntwo", "one\ntwo\n", "one\n\n\ntwo\n", "\n",
		long + "\n" + long + long + "\nz\n", "a\n" + long[:readSize-2] + "\nb\n" + long[:lineHead] + "\n",
	} {
		var want []string
		lr := newLineReader(strings.NewReader(text), 0, int64(len(text)))
		for {
			at := lr.offset
			line, _, err := lr.next()
			if err == io.EOF {
				break
			}
			if len(line) > 0 {
				want = append([]string{string(head(line)) + "@" + string(rune('0'+at%64))}, want...)
			}
		}
		var got []string
		err := eachLineBack(bytes.NewReader([]byte(text)), int64(len(text)), func(h []byte, at int64) bool {
			if len(h) > 0 {
				got = append(got, string(h)+"@"+string(rune('0'+at%64)))
			}
			return true
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d bytes: got %.80q, want %.80q (%v)", len(text), got, want, err)
		}
	}
}
