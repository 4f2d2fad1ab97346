// Package prompt writes what dsh itself tells the model: the system prompt, made
// of short sections, and the environment block.
//
// It imports llm and session, and nothing else of ours.
//
// Start reading at prompt.go.
package prompt
