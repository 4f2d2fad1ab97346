// Package llm is the vocabulary that every provider, the log and the loop share:
// messages and their blocks, streamed chunks, usage, failures, requests, and the
// catalogue of known models.
//
// It imports nothing of ours and talks to nobody.
//
// Start reading at message.go, then chunk.go; assembler.go turns the second into
// the first.
package llm
