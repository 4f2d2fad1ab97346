package sandbox

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"syscall"
	"testing"
	"time"
)

func TestFramesRoundTrip(t *testing.T) {
	t.Parallel()
	spec := Spec{Argv: []string{"a", "", "\xff\n"}, Dir: "/d", Env: []string{"A=1"}, Grace: 5 * time.Second}
	var wire bytes.Buffer
	if err := writeFrame(&wire, spec.encode()); err != nil {
		t.Fatal(err)
	}
	whole := wire.Bytes()
	frame, err := readFrame(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeSpec(frame); err != nil || !reflect.DeepEqual(got, spec) {
		t.Errorf("%+v, %v", got, err)
	}
	exit := Exit{Code: -1, Signal: syscall.SIGKILL, Stopped: true, Left: 2, Orphans: 1, Started: time.Unix(1, 2), Ended: time.Unix(3, 4)}
	if got, err := decodeExit(exit.encode()); err != nil || got != exit {
		t.Errorf("%+v, %v", got, err)
	}
	// A frame that is cut anywhere is an error, never a panic or a wrong value.
	for n := range len(whole) {
		frame, err := readFrame(bytes.NewReader(whole[:n]))
		if (n == 0) != errors.Is(err, io.EOF) || err == nil {
			t.Errorf("cut at %d: %v, %v", n, frame, err)
		}
	}
	for n := range len(frame) {
		if _, err := decodeSpec(frame[:n]); err == nil {
			t.Errorf("a Spec cut at %d is accepted", n)
		}
	}
}

func FuzzDecodeSpec(f *testing.F) {
	f.Add([]byte(Spec{Argv: []string{"a"}, Dir: "/"}.encode()))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = decodeSpec(bytes.Clone(b)) // a panic or a huge allocation fails
		_ = decodeStarted(bytes.Clone(b))
	})
}
