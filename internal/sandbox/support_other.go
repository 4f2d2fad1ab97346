//go:build !linux

package sandbox

import "context"

// LandlockABI is 0: only Linux has Landlock.
func LandlockABI() int { return 0 }

// Namespaces fails: only Linux has them.
func Namespaces(context.Context) error { return errSystem }
