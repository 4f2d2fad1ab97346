// Package openai talks to OpenAI-compatible endpoints: history made valid, bytes
// written by a wire profile, the go-openai client with our transport, SSE framing,
// lenient decoding, failures classified.
//
// It imports llm, and nothing else of ours.
//
// Start reading at client.go: it names the stages in their order.
package openai
