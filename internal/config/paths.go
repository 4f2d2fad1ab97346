package config

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	fileName         = "config.toml"
	instructionsName = "AGENTS.md"
	credentialsName  = "credentials.toml"
)

// Paths are where dsh keeps and looks for its files. All are absolute, or empty if
// there is no such place. Nothing was created.
type Paths struct {
	Home          string // sessions and other state
	UserConfig    string // may not exist; "" without a home directory
	Instructions  string // the user's own AGENTS.md, beside the settings; may not exist, "" without a home directory
	Credentials   string // keys, for the user alone; may not exist, "" without a home directory
	Project       string // real path of the project's root, which is the workspace
	ProjectConfig string // may not exist
}

// Resolve finds the paths for a process in cwd, an absolute path. A relative
// directory in an XDG variable is ignored, as that specification says; without any
// place for state it fails with a *HomeError and never falls back to cwd; the other
// paths are right all the same.
func Resolve(env func(string) string, cwd string) (Paths, error) {
	if !filepath.IsAbs(cwd) {
		return Paths{}, fmt.Errorf("the working directory %q is not an absolute path", cwd)
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	var p Paths
	if dir := xdg(env, "XDG_CONFIG_HOME", ".config"); dir != "" {
		p.UserConfig = filepath.Join(dir, fileName)
		p.Instructions = filepath.Join(dir, instructionsName)
		p.Credentials = filepath.Join(dir, credentialsName)
	}
	p.Project = projectRoot(cwd, env("HOME"))
	p.ProjectConfig = filepath.Join(p.Project, ".dsh", fileName)
	var err error
	p.Home, err = stateHome(env)
	return p, err
}

func stateHome(env func(string) string) (string, error) {
	if dir := env("DSH_HOME"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", &HomeError{Variable: "DSH_HOME", Value: dir}
		}
		return filepath.Clean(dir), nil
	}
	if dir := xdg(env, "XDG_STATE_HOME", ".local/state"); dir != "" {
		return dir, nil
	}
	return "", &HomeError{Variable: "HOME", Value: env("HOME")}
}

// xdg is dsh's directory under an XDG base directory, or under its default in HOME.
func xdg(env func(string) string, variable, byDefault string) string {
	if dir := env(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "dsh")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, byDefault, "dsh")
	}
	return ""
}

// projectRoot is the nearest directory at or above cwd with .dsh or .git, else cwd.
// Above cwd, neither the user's home nor the root is a project: what lies there would
// speak for every directory below.
func projectRoot(cwd, home string) string {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if dir == filepath.Dir(dir) || dir == home {
			return cwd
		}
		for _, name := range []string{".dsh", ".git"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return dir
			}
		}
	}
}
