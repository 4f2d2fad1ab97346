package main

import (
	"context"
	"os"
	"strings"

	"dsh/internal/config"
	"dsh/internal/jobs"
	"dsh/internal/sandbox"
	"dsh/internal/tools"
)

// commands is what runs the commands of a session.
type commands struct {
	launcher *sandbox.Launcher
	table    *jobs.Table
}

// openCommands starts a launcher ahead: it is ready when the model has thought of
// the first command. Whether launchers work here is told by the first command.
func openCommands(outDir string) *commands {
	launcher := &sandbox.Launcher{}
	_ = launcher.Prepare()
	return &commands{launcher, jobs.New(jobs.Options{Starter: launcher, OutDir: outDir})}
}

// bashOptions are what the session's commands get. The files that they need go where
// artifacts go.
func (e *engine) bashOptions(settings *config.Loaded, root string) tools.BashOptions {
	return tools.BashOptions{Jobs: e.commands.table, Env: e.commandEnv(settings), Root: root, Dir: e.log.OutDir()}
}

// close ends every command, with the grace that a stopped one has.
func (c *commands) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	err := c.table.Close(ctx)
	if err == nil {
		c.launcher.Close() // waits for commands: there are none left
	}
	return err
}

// kill ends every command now, and starts no more.
func (c *commands) kill() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.table.Close(now) // the process ends next
}

// commandEnv is the environment of commands: without any provider's key, under
// whatever name it stands.
func (e *engine) commandEnv(settings *config.Loaded) []string {
	names := map[string]bool{}
	for _, p := range settings.Providers {
		names[p.KeyEnv] = true
	}
	keys := providerKeys(settings)
	var parent []string
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if !names[name] && !containsAny(value, keys) {
			parent = append(parent, kv)
		}
	}
	own := []string{"DSH_HOME=" + e.home, "DSH_SESSION_ID=" + e.log.Header().ID, "DSH_SESSION_JSONL=" + e.log.Path()}
	return jobs.Environ(parent, append(own, e.env...)...)
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
