// Package config reads the settings: defaults, then the user's file, the project's
// file, the environment and the flags, each value with its origin.
//
// It imports nothing of ours, and only cmd/dsh imports it: other packages state
// their needs in option structs.
//
// Start reading at config.go.
package config
