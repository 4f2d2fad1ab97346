// Package session is the truth: the event vocabulary, the append-only log on disk,
// and the folds that derive everything else from it (the model's messages, the
// inbox, the runtime state).
//
// It imports llm for the message vocabulary, and nothing else of ours. It never
// talks to a model, runs a tool or draws a screen.
//
// Start reading at event.go: whoever knows these twenty-odd words knows dsh. Then
// log.go for what is promised about the disk, check.go for what a valid log is.
package session
