// Package jobs runs processes: it captures their output in bounded memory and, when
// there is much, in an artifact file; it ends them on a timeout, on cancel and when
// dsh closes.
//
// Never imports: tools, loop, policy or anything of the screen; who starts a process
// and who reads it is their business.
//
// Start reading at table.go, then process.go and capture.go.
package jobs
