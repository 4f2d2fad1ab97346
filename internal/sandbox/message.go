package sandbox

import (
	"syscall"
	"time"
)

// Orders from dsh to a launcher, after the frame with the Spec: one byte each. The
// end of the pipe is an order to stop: dsh is gone.
const (
	orderStop byte = 's'
	orderKill byte = 'k'
)

// Reports from a launcher to dsh: an empty frame when it has the Spec, one that says
// started or failed, one with the exit.

func (s Spec) encode() fields {
	var f fields
	f.putString(s.Dir)
	f.putInt(int64(s.Grace))
	f.putList(s.Argv)
	f.putList(s.Env)
	return f
}

func decodeSpec(f fields) (s Spec, err error) {
	var grace int64
	if s.Dir, err = f.string(); err != nil {
		return s, err
	}
	if grace, err = f.int(); err != nil {
		return s, err
	}
	s.Grace = time.Duration(grace)
	if s.Argv, err = f.list(); err != nil {
		return s, err
	}
	s.Env, err = f.list()
	return s, err
}

// encodeStarted makes the second report: nothing, or why there is no command.
func encodeStarted(failed *StartError) fields {
	var f fields
	if failed != nil {
		f.putString(string(failed.Stage))
		f.putString(failed.Path)
		errno, _ := failed.Err.(syscall.Errno)
		f.putInt(int64(errno))
	}
	return f
}

func decodeStarted(f fields) error {
	if len(f) == 0 {
		return nil
	}
	stage, err := f.string()
	if err != nil {
		return err
	}
	path, err := f.string()
	if err != nil {
		return err
	}
	errno, err := f.int()
	if err != nil {
		return err
	}
	return &StartError{Stage: Stage(stage), Path: path, Err: syscall.Errno(errno)}
}

func (e Exit) encode() fields {
	var f fields
	stopped := int64(0)
	if e.Stopped {
		stopped = 1
	}
	for _, v := range []int64{int64(e.Code), int64(e.Signal), stopped, int64(e.Left), int64(e.Orphans),
		e.Started.UnixNano(), e.Ended.UnixNano()} {
		f.putInt(v)
	}
	return f
}

func decodeExit(f fields) (Exit, error) {
	var v [7]int64
	for i := range v {
		n, err := f.int()
		if err != nil {
			return Exit{}, err
		}
		v[i] = n
	}
	return Exit{Code: int(v[0]), Signal: syscall.Signal(v[1]), Stopped: v[2] != 0, Left: int(v[3]), Orphans: int(v[4]),
		Started: time.Unix(0, v[5]), Ended: time.Unix(0, v[6])}, nil
}
