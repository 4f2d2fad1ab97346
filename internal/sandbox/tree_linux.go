package sandbox

import "os"

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
		n := 0
		for _, c := range list { // "12 345 "
			if c >= '0' && c <= '9' {
				n = n*10 + int(c-'0')
			} else if n > 0 {
				pids = append(pids, n)
				n = 0
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

// zombie reports whether a process has ended and only waits for its parent.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	for i := len(stat) - 1; i >= 0; i-- { // "12 (any ) name) Z ..."
		if stat[i] == ')' {
			return i+2 < len(stat) && (stat[i+2] == 'Z' || stat[i+2] == 'X')
		}
	}
	return false
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
