package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/policy"
	"dsh/internal/session"
)

const (
	// defaultTimeout ends a command that its caller has not thought about; a test
	// suite fits in.
	defaultTimeout = 120 * time.Second
	// maxTimeout is the longest that a turn waits for one command.
	maxTimeout = 600 * time.Second
	// maxArgument is the longest command that is given to bash as an argument, in
	// bytes. The kernel takes no argument of 128 KiB or more.
	maxArgument = 100 << 10
)

const bashSchema = `{"type":"object","properties":{
"command":{"type":"string","description":"what bash runs"},
"description":{"type":"string","description":"what it does, in 5 to 10 words, for the user"},
"timeoutMs":{"type":"number","minimum":1,"description":"default %d, maximum %d"},
"workdir":{"type":"string","description":"directory to run in (default: the working directory)"}%s},
"required":["command","description"]}`

const backgroundSchema = `,
"run_in_background":{"type":"boolean","description":"start a job and go on; no timeout"}`

// BashOptions are what Bash needs.
type BashOptions struct {
	Jobs *jobs.Table
	Env  []string // the whole environment of commands: see jobs.Environ
	Root string   // the project: commands run here when the session's directory is gone
	Dir  string   // for commands too long to be an argument; made when there is one

	Background bool          // offer run_in_background
	Auto       time.Duration // after which a command becomes a job; 0 is never
	KeepLate   bool          // a command becomes a job at its timeout, rather than being ended
}

type bashTool struct {
	o BashOptions

	mu   sync.Mutex
	gone string // the working directory whose loss the model was told
}

type bashArgs struct {
	Command     string          `json:"command"`
	Description string          `json:"description"`
	TimeoutMs   *float64        `json:"timeoutMs"`
	Workdir     string          `json:"workdir"`
	Background  json.RawMessage `json:"run_in_background"` // when it is not offered, a model may know it from elsewhere
}

// Bash is the tool that runs a command in a fresh shell and waits for its end, or has
// it go on as a job. The command's descendants end with it.
func Bash(o BashOptions) Tool { return &bashTool{o: o} }

func (*bashTool) Name() string { return "bash" }

func (b *bashTool) Description() string {
	jobs := ""
	if b.o.Background {
		jobs = " Use run_in_background for servers, and for what takes minutes while there is other work: it returns a job id at once, and you are told when the job ends."
	}
	return "Run a command with bash in a fresh shell: nothing but files stays for the next call (use workdir, not cd), stdin is empty, and there is no terminal. " +
		"stdout and stderr come as written; a long output is cut in the middle and kept in a file. " +
		"Look at the last line: [exit code: N] says that it failed. What it leaves running with & is ended." + jobs
}

func (b *bashTool) Schema() json.RawMessage {
	more := ""
	if b.o.Background {
		more = backgroundSchema
	}
	return json.RawMessage(fmt.Sprintf(bashSchema, defaultTimeout.Milliseconds(), maxTimeout.Milliseconds(), more))
}

func (*bashTool) Class() policy.Class { return policy.Exec }

func (*bashTool) Concurrent(args json.RawMessage) bool {
	var a bashArgs
	return decode(args, &a) == nil && policy.ReadsOnly(a.Command) && !a.background()
}

func (b *bashTool) Action(env Env, args json.RawMessage) (policy.Action, error) {
	a, err := b.argsOf(args)
	if err != nil {
		return policy.Action{}, err
	}
	where, err := b.where(env, a.Workdir)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Command: a.Command, Target: a.Command, Paths: []string{where.real}}, nil
}

// background is as lenient as models are.
func (a *bashArgs) background() bool {
	switch string(a.Background) {
	case "", "false", "null":
		return false
	}
	return true
}

// argsOf reads arguments and refuses those that can only be mistakes.
func (b *bashTool) argsOf(args json.RawMessage) (a bashArgs, err error) {
	if err := decode(args, &a); err != nil {
		return a, err
	}
	switch {
	case strings.TrimSpace(a.Command) == "":
		return a, fail(InvalidArgs, "command is blank")
	case strings.TrimSpace(a.Description) == "":
		return a, fail(InvalidArgs, "description is blank: say in 5 to 10 words what the command does")
	case strings.ContainsRune(a.Command, 0) || strings.ContainsRune(a.Workdir, 0):
		return a, fail(InvalidArgs, "command or workdir holds a NUL character")
	case a.background() && !b.o.Background:
		return a, fail(InvalidArgs, "run_in_background is not available: the command was not run. Run it without, with a timeoutMs that is long enough.")
	}
	return a, nil
}

// where is the directory of a call. Its note says that it is not the one that was
// meant. Only a directory that nobody named is replaced when it is gone.
func (b *bashTool) where(env Env, workdir string) (place, error) {
	p := place{raw: workdir, abs: filepath.Clean(workdir)}
	if !filepath.IsAbs(workdir) {
		base := env.Cwd
		if base == "" {
			base = b.o.Root
		}
		if !isDir(base) && b.o.Root != base && isDir(b.o.Root) {
			p.note = fmt.Sprintf("[the working directory %s is gone: this ran in %s]", base, b.o.Root)
			base = b.o.Root
		}
		p.abs = filepath.Join(base, workdir)
	}
	info, err := os.Stat(p.abs)
	switch {
	case err != nil:
		return p, fsError("run in directory", p.abs, err)
	case !info.IsDir():
		return p, fail(FSNotDirectory, "cannot run in %s: it is not a directory", p.abs)
	}
	p.real, err = realPath(p.abs)
	return p, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (b *bashTool) Run(ctx context.Context, env Env, args json.RawMessage) (Result, error) {
	a, err := b.argsOf(args)
	if err != nil {
		return Result{}, err
	}
	where, err := b.where(env, a.Workdir)
	if err != nil {
		return Result{}, err
	}
	if err := where.judgedToo(env); err != nil {
		return Result{}, err
	}
	if a.background() {
		return b.background(env, &a, where)
	}
	p, err := b.start(env, &a, where)
	if err != nil {
		return Result{}, err
	}
	return b.attend(ctx, env, &a, p, b.once(where.note)), nil
}

// start starts the command. It has no timeout yet: who waits for it has.
func (b *bashTool) start(env Env, a *bashArgs, where place) (*jobs.Process, error) {
	argv, remove, err := b.argv(a.Command)
	if err != nil {
		return nil, err
	}
	p, err := b.o.Jobs.Start(jobs.Command{Argv: argv, Dir: where.abs, Env: b.environ(a.Command), Label: a.Command, ID: env.CallID, Ended: remove})
	if err == nil {
		return p, nil
	}
	remove()
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w. dsh runs commands with bash, and no other shell in its place", err)
	}
	return nil, fail(SpawnFailed, "%v", err)
}

// timeout is the call's own, within bounds.
func (a *bashArgs) timeout() time.Duration {
	if a.TimeoutMs == nil {
		return defaultTimeout
	}
	return time.Duration(min(*a.TimeoutMs, float64(maxTimeout.Milliseconds()))) * time.Millisecond
}

// once is a note the first time it is given; a later one that differs is given too.
func (b *bashTool) once(note string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if note == b.gone {
		return ""
	}
	b.gone = note
	return note
}

// readEnv keeps a command that only reads from doing more: git must not refresh its
// index or fetch, start a monitor that some repository names, or take a folder of
// the project for a repository with settings of its own.
var readEnv = []string{
	"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_CONFIG_COUNT=2",
	"GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
	"GIT_CONFIG_KEY_1=safe.bareRepository", "GIT_CONFIG_VALUE_1=explicit",
}

func (b *bashTool) environ(command string) []string {
	if !policy.ReadsOnly(command) {
		return b.o.Env
	}
	return append(b.o.Env[:len(b.o.Env):len(b.o.Env)], readEnv...)
}

// argv runs exactly the command's bytes: nothing is added to them, and no rc file is
// read before them. A command that is too long for an argument is a file, which
// remove takes away.
func (b *bashTool) argv(command string) (argv []string, remove func(), err error) {
	remove = func() {}
	argv = []string{"bash", "--noprofile", "--norc"}
	if len(command) <= maxArgument {
		return append(argv, "-c", "--", command), remove, nil
	}
	file, err := b.script(command)
	if err != nil {
		return nil, remove, fail(SpawnFailed, "the command is too long for an argument and could not be put in a file: %v", err)
	}
	return append(argv, "--", file), func() { _ = os.Remove(file) }, nil
}

// script puts a command in a file of its own.
func (b *bashTool) script(command string) (string, error) {
	if err := os.MkdirAll(b.o.Dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(b.o.Dir, "command-*.sh")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(command)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}

func (b *bashTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	var a bashArgs
	if decode(args, &a) != nil {
		return genericCard("Run", string(args), r)
	}
	return commandCard(a, r)
}
