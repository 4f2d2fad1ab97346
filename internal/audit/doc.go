// Package audit is dsh verify: it checks a log's structure and derives the digest
// of every request again, from the file alone.
//
// It imports session, llm and llm/openai.
//
// Start reading at audit.go.
package audit
