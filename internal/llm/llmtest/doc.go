// Package llmtest is a scripted provider: a small readable file plays the model,
// over loopback HTTP or over in-memory pipes, and a strict validator refuses what
// real providers refuse.
//
// It imports nothing of ours, and must not import llm/openai: a mistake made in both
// could not be seen.
//
// Start reading at script.go for the file format; server.go plays it, validate.go
// refuses.
package llmtest
