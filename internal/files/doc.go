// Package files finds the files of a project.
//
// Holds: walking a directory (walk.go) by the rules of its ignore files (ignore.go,
// rules.go), finding files by globs (find.go, glob.go) and lines by expressions
// (search.go, scan.go, pattern.go, literal.go, automaton.go), and the index that answers what a few
// typed letters may mean (index.go, rank.go), from git where there is one (git.go).
//
// Imports nothing of ours. Knows no tool and no screen.
//
// Start reading at walk.go, then search.go or index.go.
package files
