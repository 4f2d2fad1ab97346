// Package verify is the check that a model cannot talk its way past: at the end of a
// turn that changed something it runs a command of the user's, tells the model of a
// failure, and after some of them ends the turn as unverified.
//
// Never imports: tools, policy, settings or anything of the screen. What a turn did,
// and how often it was checked, is a fold over the log (session.Work), not kept here.
//
// Start reading at verify.go, then run.go and touched.go.
package verify
