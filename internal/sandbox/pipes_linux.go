package sandbox

import (
	"os"
	"syscall"
)

// pipes makes pipes of which dsh's end has deadlines and the child's end blocks, as
// programs expect of their output. (os.Pipe makes both ends non-blocking.) The
// first error stays; the ends of the child are closed after it was started.
type pipes struct {
	err    error
	theirs []*os.File
}

func (p *pipes) toChild(ours **os.File) *os.File {
	r, w := p.pipe()
	return p.split(ours, w, r)
}

func (p *pipes) fromChild(ours **os.File) *os.File {
	r, w := p.pipe()
	return p.split(ours, r, w)
}

func (p *pipes) pipe() (r, w int) {
	var fds [2]int
	if p.err == nil {
		p.err = os.NewSyscallError("pipe2", syscall.Pipe2(fds[:], syscall.O_CLOEXEC))
	}
	return fds[0], fds[1]
}

func (p *pipes) split(ours **os.File, mine, their int) *os.File {
	if p.err != nil {
		return nil
	}
	p.err = os.NewSyscallError("fcntl", syscall.SetNonblock(mine, true))
	*ours = os.NewFile(uintptr(mine), "pipe")
	f := os.NewFile(uintptr(their), "pipe")
	p.theirs = append(p.theirs, f)
	return f
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
}
