//go:build !crashtest

package main

import "github.com/spf13/cobra"

// addHidden adds nothing: the commands for tests are in builds for tests only; see
// play.go.
func addHidden(root *cobra.Command, s streams) {}
