//go:build !crashtest

package main

import "testing"

// A build for users has no command that plays a user.
func TestNoHiddenCommands(t *testing.T) {
	t.Parallel()
	for _, c := range newRoot(streams{}, &output{}).Commands() {
		if c.Hidden && c.Name() != modelCommand {
			t.Errorf("%s is in a build for users", c.Name())
		}
	}
}
