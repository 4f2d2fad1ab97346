// Package policy judges actions: allow, deny or ask. It is pure: it touches no disk,
// no clock and no screen, and the same action under the same rules always gets the
// same decision.
//
// It imports session for the words of a decision, and nothing else of ours.
//
// Start reading at policy.go.
package policy
