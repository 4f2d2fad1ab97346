// Package tools holds the Tool interface, the registry that validates and runs
// calls, and one file for each tool.
//
// It imports session (displays, versions of files seen), llm (blocks, schemas),
// policy (actions), jobs (processes), files (walks, searches) and redact (its
// markers). It never imports the loop or the screen, never asks a person, and never
// decides whether a call may run.
//
// Start reading at tool.go; read.go is the worked example of a tool.
package tools
