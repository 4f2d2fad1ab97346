package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Codes of error results. They are part of the log's format: readers and tests
// decide on them, people and the model read the text.
const (
	UnknownTool = "UNKNOWN_TOOL"     // no tool of that name is registered
	InvalidArgs = "INVALID_ARGS"     // not a JSON object, or against the schema
	HasMarker   = "REDACTION_MARKER" // would put the marker of a secret in the secret's place
	Aborted     = "ABORTED"          // cancelled; whether it had an effect stands in the text
	Internal    = "INTERNAL"         // the tool itself broke: a bug of dsh

	SpawnFailed = "SPAWN_FAILED" // the command was not started
	ProcessLost = "PROCESS_LOST" // the command was started, and nobody saw how it ended

	JobUnknown = "JOB_UNKNOWN" // no job of this agent has the id
	JobLimit   = "JOB_LIMIT"   // too many are active; nothing was started
	JobsClosed = "JOBS_CLOSED" // there can be none (any more)
	Superseded = "SUPERSEDED"  // an earlier call of the message became a job; nothing was started

	ToolTimeout = "TOOL_TIMEOUT" // it took longer than it may

	SearchInvalidPattern = "SEARCH_INVALID_PATTERN"
	SearchFailed         = "SEARCH_FAILED"              // there is nothing to search
	SearchOverflow       = "SEARCH_RAW_OUTPUT_OVERFLOW" // more was found than can be kept

	FSNotFound      = "FS_NOT_FOUND"
	FSNotDirectory  = "FS_NOT_DIRECTORY"
	FSNotRegular    = "FS_NOT_REGULAR_FILE"
	FSNotText       = "FS_NOT_TEXT"
	FSNotObserved   = "FS_NOT_OBSERVED"  // exists, but the model has not seen it
	FSStaleVersion  = "FS_STALE_VERSION" // is no longer what the model saw
	FSEditNotFound  = "FS_EDIT_NOT_FOUND"
	FSAmbiguousEdit = "FS_AMBIGUOUS_EDIT"
	FSAmbiguousName = "FS_AMBIGUOUS_NAME" // several files differ from the name only in look-alike characters
	FSTooLarge      = "FS_TOO_LARGE"
	FSPermission    = "FS_PERMISSION_DENIED"
	FSIO            = "FS_IO_ERROR"
)

// fail makes an error result's cause.
func fail(code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// fsError gives an error of the file system its code. Errors that have one, and
// cancellations, pass through.
func fsError(doing, path string, err error) error {
	var known *Error
	if errors.As(err, &known) || isCancel(err) {
		return err
	}
	var ofPath *fs.PathError
	var ofLink *os.LinkError
	if errors.As(err, &ofPath) { // the path is in our text already
		err = ofPath.Err
	} else if errors.As(err, &ofLink) {
		err = ofLink.Err
	}
	code := FSIO
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = FSNotFound
	case errors.Is(err, syscall.ENOTDIR):
		code = FSNotDirectory
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		code = FSPermission
	}
	return fail(code, "cannot %s %s: %v", doing, path, err)
}

func isCancel(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
