package main

import (
	"context"

	"dsh/internal/config"
	"dsh/internal/jobs"
	"dsh/internal/sandbox"
	"dsh/internal/tools"
)

// commands is what runs the commands of a session.
type commands struct {
	launcher  *sandbox.Launcher
	table     *jobs.Table
	artifacts *jobs.Artifacts
}

// openCommands starts a launcher ahead: it is ready when the model has thought of
// the first command. Whether launchers work here is told by the first command.
func openCommands(outDir string, hidden *secrets) *commands {
	launcher := &sandbox.Launcher{}
	_ = launcher.Prepare()
	artifacts := jobs.NewArtifacts(outDir, 0, 0)
	return &commands{launcher, jobs.New(jobs.Options{Starter: launcher, Artifacts: artifacts, Filter: hidden.output}), artifacts}
}

// bashOptions are what the session's commands get. The files that they need go where
// artifacts go.
func (e *engine) bashOptions(settings *config.Loaded, root string, o engineOptions) tools.BashOptions {
	e.children = e.commandEnv(settings)
	bash := tools.BashOptions{Jobs: e.commands.table, Env: e.children, Root: root, Dir: e.log.OutDir()}
	if settings.Handover == "on" {
		bash.KeepLate = o.asks
		if o.asks || settings.Origin("bash.auto_background").Layer != config.Default { // without a person nobody waits
			bash.Auto = settings.AutoBackground
		}
	}
	return bash
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
