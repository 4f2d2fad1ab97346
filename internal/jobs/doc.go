// Package jobs runs processes: it captures their output in bounded memory and, when
// there is much, in an artifact file; it ends them on a timeout, on cancel and when
// dsh closes. A process that no turn waits for is a job: a Registry has those of one
// agent.
//
// Never imports: tools, loop, policy or anything of the screen; who starts a process
// and who reads it is their business.
//
// Start reading at table.go, then process.go and capture.go; of jobs at registry.go.
package jobs
