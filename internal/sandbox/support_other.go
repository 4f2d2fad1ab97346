//go:build !linux

package sandbox

// LandlockABI is 0: only Linux has Landlock.
func LandlockABI() int { return 0 }
