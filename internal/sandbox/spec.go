package sandbox

import (
	"os"
	"syscall"
)

// complete fills in what a Spec leaves out and refuses what the system could not
// take.
func (s *Spec) complete() error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return &StartError{StageExec, "(none)", syscall.EINVAL}
	}
	if s.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return &StartError{StageDir, "(dsh's own)", err}
		}
		s.Dir = dir
	}
	if s.Grace <= 0 {
		s.Grace = DefaultGrace
	}
	for _, field := range append(append([]string{s.Dir}, s.Argv...), s.Env...) {
		for i := range len(field) {
			if field[i] == 0 {
				return &StartError{StageExec, s.Argv[0], errNUL}
			}
		}
	}
	env := make([]string, 0, len(s.Env)+1)
	for _, kv := range s.Env {
		if len(kv) < 4 || kv[:4] != "PWD=" {
			env = append(env, kv)
		}
	}
	s.Env = append(env, "PWD="+s.Dir)
	return nil
}
