// Package llmtest is a scripted provider: a small readable file plays the model,
// over loopback HTTP or over in-memory pipes, and a strict validator refuses what
// real providers refuse.
//
// It imports llm. It must not import llm/openai: a mistake made in both could not
// be seen.
//
// Start reading at script.go for the file format.
package llmtest
