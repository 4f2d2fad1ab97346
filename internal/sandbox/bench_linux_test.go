package sandbox

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// BenchmarkLaunch compares a command under the launcher with a plain exec of it, in
// one run: only the differences mean something on a shared machine. It launches
// this test binary, which initialises less before main than dsh does; a launcher
// never gets that far.
func BenchmarkLaunch(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		defer reportCPU(b)()
		l := &Launcher{Self: os.Getenv("LAUNCH_SELF")}
		defer l.Close()
		for b.Loop() {
			runTrue(b, l)
		}
	})
	b.Run("warm", func(b *testing.B) {
		l := &Launcher{Self: os.Getenv("LAUNCH_SELF")}
		defer l.Close()
		for b.Loop() {
			b.StopTimer() // in a session, the model's answer comes between
			if err := l.Prepare(); err != nil {
				b.Fatal(err)
			}
			l.idleReady(b)
			b.StartTimer()
			runTrue(b, l)
		}
	})
}

func runTrue(b *testing.B, l *Launcher) {
	p, err := l.Start(Spec{Argv: []string{"/bin/true"}})
	if err != nil {
		b.Fatal(err)
	}
	out := p.Output()
	if _, err := io.Copy(io.Discard, out); err != nil {
		b.Fatal(err)
	}
	out.Close()
	if exit, err := p.Wait(context.Background()); err != nil || exit.Code != 0 {
		b.Fatalf("%+v %v", exit, err)
	}
}

// reportCPU adds the CPU time of this process and its children, which a busy
// machine disturbs less than the wall time.
func reportCPU(b *testing.B) func() {
	before := cpuTime()
	return func() {
		b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "cpu-us/op")
	}
}

func cpuTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			panic(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
