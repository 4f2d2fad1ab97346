package prompt

import (
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"dsh/internal/llm"
)

// Env is what the model is told about its surroundings. Empty fields are left out.
type Env struct {
	OS     string // as Go names it
	Arch   string
	Shell  string // the user's shell
	Cwd    string
	Branch string // git's, or "detached at" a commit
	Date   string // a day: a clock would change the text with every session
}

// Gather fills an Env from the process, getenv and the files of git. It starts no
// process, and what it cannot find out stays empty.
func Gather(cwd string, getenv func(string) string, now time.Time) Env {
	return Env{
		OS:     runtime.GOOS,
		Arch:   runtime.GOARCH,
		Shell:  getenv("SHELL"),
		Cwd:    filepath.Clean(cwd),
		Branch: branch(cwd),
		Date:   now.Format(time.DateOnly),
	}
}

// Environment is the text of the block. Nothing in a value can end the block or
// begin a line of it.
func Environment(e Env) string {
	platform := e.OS
	if e.Arch != "" {
		platform += "/" + e.Arch
	}
	var sb strings.Builder
	for _, field := range []struct{ name, value string }{
		{"platform", platform},
		{"shell", e.Shell},
		{"working directory", e.Cwd},
		{"git branch", e.Branch},
		{"date", e.Date},
	} {
		if field.value != "" {
			sb.WriteString(field.name + ": " + inline(field.value, maxValue) + "\n")
		}
	}
	return frame("environment", sb.String())
}

// EnvMessage is the block as a message. The caller gives it an id.
func EnvMessage(e Env) llm.Message { return message("snapshot", Environment(e)) }

// NoticeMessage is a note of dsh to the model: a BudgetNotice, a RepeatNotice. The
// caller gives it an id.
func NoticeMessage(text string) llm.Message { return message("notice", text) }

// ShellMessage is a command that the user ran, with what it printed. The caller gives
// it an id.
func ShellMessage(command, output string) llm.Message {
	return message("notice", frame("user-command", "The user ran `"+command+"` in a shell, and it printed:\n"+output+"\n"))
}

func message(form, text string) llm.Message {
	return llm.Message{
		Role:    llm.User,
		Content: []llm.Block{llm.TextBlock(text)},
		Source:  llm.Source{Kind: llm.FromPlugin, Plugin: "dsh", Form: form},
	}
}
