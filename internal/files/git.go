package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// gitTimeout is how long one git command may take: tens of seconds are what a large
// repository on a cold disk needs.
const gitTimeout = 30 * time.Second

// status is what git says of a file.
type status uint8

const (
	same    status = iota
	changed        // since the last commit
	gone           // git knows it, but it is not there
)

// gitList gives the files of a repository below a root: those git knows and those it
// does not ignore. A file may be given more than once, with another status.
func gitList(ctx context.Context, root string, give func(path string, s status)) error {
	args := []string{"ls-files", "-z", "-t", "--cached", "--deleted", "--others", "--exclude-standard"}
	safe, err := gitFiltersSafe(ctx, root)
	if err != nil {
		return err
	}
	if safe {
		args = append(args, "--modified")
	}
	tags := map[string]status{"R": gone, "C": changed, "?": changed}
	err = git(ctx, root, args, func(line string) {
		tag, path, _ := strings.Cut(line, " ")
		give(path, tags[tag])
	})
	if err != nil {
		return err
	}
	staged := []string{"diff", "--cached", "--name-only", "--relative", "--no-ext-diff", "--no-renames", "--diff-filter=d", "-z"}
	return git(ctx, root, staged, func(path string) { give(path, changed) })
}

// gitFiltersSafe reports whether comparing files runs no program that the repository
// itself names: a directory that came from elsewhere must not run anything because
// somebody looks at it.
func gitFiltersSafe(ctx context.Context, root string) (bool, error) {
	safe := true
	args := []string{"config", "-z", "--show-scope", "--name-only", "--get-regexp", `^filter\..*\.(clean|process)$`}
	scope := ""
	err := git(ctx, root, args, func(field string) {
		if scope == "" {
			scope = field
			return
		}
		if scope != "system" && scope != "global" {
			safe = false
		}
		scope = ""
	})
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // there is none
		return true, nil
	}
	return safe, err
}

// git runs a command that only reads, and gives what it prints, up to each NUL.
func git(ctx context.Context, root string, args []string, give func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	fixed := []string{"-C", root, "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}
	cmd := exec.CommandContext(ctx, "git", append(fixed, args...)...)
	cmd.Env = gitEnv()
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &limited{&stderr, 4 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	scan := bufio.NewScanner(out)
	scan.Split(splitNUL)
	for scan.Scan() {
		give(scan.Text())
	}
	if scan.Err() != nil {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("git %s in %s: %w", args[0], root, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("git %s in %s: %w: %s", args[0], root, err, strings.TrimSpace(stderr.String()))
	}
	return scan.Err()
}

// gitEnv is an environment in which git takes no locks, fetches nothing, speaks
// English, and looks at the repository it is pointed to.
func gitEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=") ||
			strings.HasPrefix(v, "GIT_INDEX_FILE=") || strings.HasPrefix(v, "GIT_PREFIX=")
	})
	return append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

func splitNUL(data []byte, end bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if end && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// limited is a buffer that forgets what is beyond its room.
type limited struct {
	*bytes.Buffer
	room int
}

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), max(l.room-l.Len(), 0))])
	return len(p), nil
}
