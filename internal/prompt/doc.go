// Package prompt writes what dsh itself tells the model: the system prompt, made
// of short sections, the environment block, the instruction files, notices.
//
// It imports llm and session, and nothing else of ours.
//
// Start reading at prompt.go.
package prompt
