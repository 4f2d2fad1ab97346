//go:build race

package loop

// longSteps is smaller here: the race detector makes the scripted server ten times
// slower, and what it looks for shows in the first hundred steps.
const longSteps = 300
