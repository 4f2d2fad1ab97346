package sandbox

import (
	"os"
	"syscall"
)

// descendants returns the pids of all live descendants of this process, parents
// before their children.
func descendants() []int {
	var all []int
	queue := []int{os.Getpid()}
	for len(queue) > 0 {
		children := childrenOf(queue[0])
		queue = append(queue[1:], children...)
		for _, pid := range children {
			if !zombie(pid) {
				all = append(all, pid)
			}
		}
	}
	return all
}

// childrenOf reads the children of all threads of a process: the kernel lists a
// child under the thread that forked it.
func childrenOf(pid int) []int {
	tasks := "/proc/" + itoa(pid) + "/task"
	threads, err := readNames(tasks)
	if err != nil {
		return nil // it has ended
	}
	var pids []int
	for _, tid := range threads {
		list, err := os.ReadFile(tasks + "/" + tid + "/children")
		if err != nil {
			continue
		}
		for rest := string(list); rest != ""; { // "12 345 "
			var child int
			if child, rest = atoi(rest); child > 0 {
				pids = append(pids, child)
			}
			if rest != "" {
				rest = rest[1:]
			}
		}
	}
	return pids
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// killSession kills the members of a session, and looks again for those they were
// forking, until it finds none or has looked often enough.
func killSession(sid int) {
	for range 10 {
		found := false
		names, _ := readNames("/proc")
		for _, name := range names {
			pid, _ := atoi(name)
			if pid == 0 || pid == sid || stat(pid).session != sid || zombie(pid) {
				continue
			}
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
		if !found {
			return
		}
	}
}

// zombie reports whether a process has ended and only waits for its parent.
func zombie(pid int) bool {
	state := stat(pid).state
	return state == 0 || state == 'Z' || state == 'X'
}

type procStat struct {
	state   byte // 0 if there is no such process
	session int
}

// stat reads "12 (any ) name) S 1 12 12 ...": state, parent, group, session.
func stat(pid int) (s procStat) {
	line, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return s
	}
	end := len(line) - 1
	for end >= 0 && line[end] != ')' {
		end--
	}
	if end < 0 || len(line) < end+4 {
		return s
	}
	s.state = line[end+2]
	rest := string(line[end+3:])
	for i := 0; i < 3 && rest != ""; i++ {
		s.session, rest = atoi(rest[1:])
	}
	return s
}

// atoi reads the number that s begins with.
func atoi(s string) (n int, rest string) {
	for s != "" && s[0] >= '0' && s[0] <= '9' {
		n = n*10 + int(s[0]-'0')
		s = s[1:]
	}
	return n, s
}

func itoa(n int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
