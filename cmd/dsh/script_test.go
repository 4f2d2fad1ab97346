package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"dsh/internal/llm/llmtest"
)

// scriptParallel is how many scripts run at once: they wait for processes and disks
// most of the time, on any number of cores.
const scriptParallel = "8"

// TestMain lets this binary stand in for dsh: a script's dsh is a real process.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", scriptParallel) // a default: the command line wins
	testscript.Main(m, map[string]func(){"dsh": main})
}

// scriptLimit ends programs that hang: all scripts together take seconds.
const scriptLimit = 3 * time.Minute

// scriptKey is the key that scripts use where it does not matter.
const scriptKey = "sk-0123456789abcdef"

// scriptCommands are the commands that scripts have beside testscript's own.
var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	"exits":   exits,
	"model":   startScripted,
	"tls":     overTLS,
	"arrived": arrived,
	"release": release,
	"request": requestBody,
	"header":  requestHeader,
	"served":  served,
	"session": newestSession,
	"spawn":   spawn,
	"signal":  signalSpawned,
	"ends":    ends,
	"until":   until,
	"says":    says,
	"json":    checkJSON,
	"events":  checkEvents,
	"replace": replace,
}

// TestScripts runs testdata/script/*.txtar on the real binary. The commands that
// are not testscript's are documented where they are defined.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("..", "..", "testdata", "script"),
		RequireUniqueNames: true,
		Cmds:               scriptCommands,
		Condition:          scriptCondition,
		Deadline:           time.Now().Add(scriptLimit),
		Setup: func(env *testscript.Env) error {
			// A temporary folder may lie behind a symbolic link; logs hold real paths.
			work, err := filepath.EvalSymlinks(env.WorkDir)
			if err != nil {
				return err
			}
			for _, dir := range []string{"home", "state"} {
				if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
					return err
				}
			}
			env.Cd = work
			env.Setenv("HOME", filepath.Join(work, "home"))
			env.Setenv("DSH_HOME", filepath.Join(work, "state"))
			env.Setenv("DEEPSEEK_API_KEY", scriptKey)
			env.Setenv("DEEPSEEK_BASE_URL", "http://127.0.0.1:1/v1") // nobody listens
			env.Setenv("TZ", "UTC")
			env.Setenv("GOCACHE", goCache())
			env.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each dsh of a race build ends a second late
			env.Setenv("BAD", "\xff")                 // no text
			env.Values[stageKey{}] = &stage{spawned: map[string]*spawned{}}
			return nil
		},
	})
}

// goCache is where the go command keeps what it built: a script that runs it need
// not build the standard library again.
var goCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
})

// mountable says whether the command disk works; see script_linux_test.go.
var mountable = func() (bool, error) { return false, nil }

// scriptCondition is true for [mount] where a script may mount a small disk.
func scriptCondition(name string) (bool, error) {
	if name == "mount" {
		return mountable()
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

type stageKey struct{}

// stage is what a script has running beside it.
type stage struct {
	model   *model
	spawned map[string]*spawned
}

func stageOf(ts *testscript.TestScript) *stage { return ts.Value(stageKey{}).(*stage) }

// exits CODE [<FILE] PROGRAM ARGS... runs a program and wants its exit code. Its
// standard input is the file, else /dev/null: testscript's own is a pipe that ends
// when its writer gets to it.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE [<FILE] PROGRAM ARGS...")
	}
	stdin, program := os.DevNull, args[1:]
	if file, ok := strings.CutPrefix(args[1], "<"); ok {
		stdin, program = ts.MkAbs(file), args[2:]
	}
	err := ts.Exec("sh", append([]string{"-c", `f=$1; shift; exec "$@" <"$f"`, "sh", stdin}, program...)...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// model is a scripted model that is served over HTTP.
type model struct {
	*llmtest.Server
	mu       sync.Mutex
	requests []http.Header
	more     chan struct{} // closed when another request comes
}

// ServeHTTP counts a request when all of it is here: its sender may be killed then.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.mu.Lock()
	m.requests = append(m.requests, r.Header.Clone())
	close(m.more)
	m.more = make(chan struct{})
	m.mu.Unlock()
	m.Server.ServeHTTP(w, r)
}

// model FILE serves a script, and lets dsh's DeepSeek be there. $MODEL_URL is the
// base URL, $MODEL_PROXY the server as a proxy.
func startScripted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE")
	}
	script, err := llmtest.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	m := &model{Server: llmtest.NewServer(script), more: make(chan struct{})}
	server := httptest.NewUnstartedServer(m)
	server.Config.ErrorLog = nil
	server.Start()
	ts.Defer(func() {
		ts.Check(m.Close()) // ends replies that hang
		server.CloseClientConnections()
		server.Close()
	})
	stageOf(ts).model = m
	ts.Setenv("MODEL_URL", server.URL+"/v1")
	ts.Setenv("MODEL_PROXY", server.URL)
	ts.Setenv("DEEPSEEK_BASE_URL", server.URL+"/v1")
}

// tls FILE serves the model over TLS too, lets dsh's DeepSeek be there, and writes the
// certificate to a file.
func overTLS(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tls FILE")
	}
	server := httptest.NewUnstartedServer(modelOf(ts))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are wanted
	server.StartTLS()
	ts.Defer(server.Close)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	ts.Setenv("DEEPSEEK_BASE_URL", server.URL+"/v1")
}

func modelOf(ts *testscript.TestScript) *model {
	m := stageOf(ts).model
	if m == nil {
		ts.Fatalf("no model was started")
	}
	return m
}

// arrived N waits until the model has got N requests.
func arrived(ts *testscript.TestScript, neg bool, args []string) {
	m := modelOf(ts)
	if neg || len(args) != 1 {
		ts.Fatalf("usage: arrived N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for limit := patience(); ; {
		m.mu.Lock()
		got, more := len(m.requests), m.more
		m.mu.Unlock()
		if got >= want {
			return
		}
		select {
		case <-more:
		case <-limit:
			ts.Fatalf("%d requests came, want %d", got, want)
		}
	}
}

// release NAME lets replies that hold go on.
func release(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: release NAME")
	}
	modelOf(ts).Release(args[0])
}

// request N FILE writes the body of the Nth request to a file.
func requestBody(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: request N FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	all := modelOf(ts).Requests()
	if n < 1 || n > len(all) {
		ts.Fatalf("there were %d requests", len(all))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), all[n-1], 0o600))
}

// header N PATTERN wants a header of the Nth request to match, as Name: value.
func requestHeader(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: header N PATTERN")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	m := modelOf(ts)
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < 1 || n > len(m.requests) {
		ts.Fatalf("there were %d requests", len(m.requests))
	}
	var text strings.Builder
	ts.Check(m.requests[n-1].Write(&text))
	matches, err := regexp.MatchString("(?m)"+args[1], strings.ReplaceAll(text.String(), "\r\n", "\n"))
	ts.Check(err)
	if !matches {
		ts.Fatalf("no header matches %s", args[1])
	}
}

// served wants that everything went as the model's script says; served N that it
// got N requests so far.
func served(ts *testscript.TestScript, neg bool, args []string) {
	m := modelOf(ts)
	switch {
	case !neg && len(args) == 0:
		ts.Check(m.Done())
	case !neg && len(args) == 1:
		if got := strconv.Itoa(len(m.Requests())); got != args[0] {
			ts.Fatalf("%s requests came, want %s", got, args[0])
		}
	default:
		ts.Fatalf("usage: served [N]")
	}
}
