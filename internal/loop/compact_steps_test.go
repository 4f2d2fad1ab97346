//go:build !race

package loop

const longSteps = 2000
