package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"dsh/internal/llm"
	"dsh/internal/session"
)

const (
	// maxInstructions bounds the bytes of all instructions that the model has at a
	// time: they are a part of every request.
	maxInstructions = 64 << 10
	// maxInstructionFile bounds what is read of one file: no person wrote more.
	maxInstructionFile = 1 << 20
)

// instructionNames are the files of a directory, in order: of each pair the first one
// that is there. The second of a pair is what other agents read; the second pair is a
// person's own, not part of the repository.
var instructionNames = [][2]string{{"AGENTS.md", "CLAUDE.md"}, {"AGENTS.local.md", "CLAUDE.local.md"}}

// Instructions are the files that tell the model how to work: the user's own, those
// of each directory from the project's root to the working directory, and those of
// directories below the root that the session has visited. It remembers nothing: what
// the model has been told is in the log.
//
// They are text for the model, whoever wrote them: they are sent from a folder that is
// not trusted too, as any file that it reads, and they allow nothing.
type Instructions struct {
	User string // the user's own file, absolute; "" for none
	Root string // the project's root; links are resolved
	Cwd  string // in Root, or the same
}

// instructionFile is a file as it is now.
type instructionFile struct {
	session.Instruction
	text string // as it stands in the file, until made safe; "" with a Problem
}

// safe is the file with a text that can stand in a message. It costs more than to find
// out that the file has not changed.
func (f instructionFile) safe() instructionFile {
	if len(f.text) <= maxInstructions { // else there is no room for it
		f.text = foreign(f.text)
	}
	f.Bytes = len(f.text)
	return f
}

// Message is what the model must be told: files that are new or have changed, and
// those that are gone. known is what it has been told, visited the directories (real
// paths) of files that it has worked on; those of known need not be among them. ok is false if there is nothing to tell. The
// caller gives the message an id.
func (in *Instructions) Message(known []session.Instruction, visited []string) (m llm.Message, ok bool, err error) {
	text, files := in.Tell(known, visited)
	if text == "" {
		return m, false, nil
	}
	form := "notice"
	if len(known) == 0 {
		form = "snapshot"
	}
	source, err := session.InstructionSource(form, files)
	if err != nil {
		return m, false, fmt.Errorf("list the instruction files: %w", err)
	}
	m = message(form, text)
	m.Source = source
	return m, true, nil
}

// Tell is the text of Message and the files that it speaks of, for a message of the
// caller's own; "" and none if there is nothing to tell.
func (in *Instructions) Tell(known []session.Instruction, visited []string) (text string, files []session.Instruction) {
	for _, k := range known {
		visited = append(visited[:len(visited):len(visited)], filepath.Dir(k.Path))
	}
	tell := choose(in.scan(visited), known)
	if len(tell) == 0 {
		return "", nil
	}
	for _, f := range tell {
		files = append(files, f.Instruction)
	}
	return instructionText(tell, known), files
}

// choose picks what must be told of the files that are there, in their order, then
// what is gone. What the model was told and still holds is not told again, and neither
// is a new file that says what another one says.
func choose(found []instructionFile, known []session.Instruction) (tell []instructionFile) {
	told := map[string]session.Instruction{}
	for _, k := range known {
		told[k.Path] = k
	}
	holds := func(f instructionFile) bool {
		k, ok := told[f.Path]
		return ok && k.SHA256 == f.SHA256 && k.Problem == f.Problem
	}
	said, there, room := map[string]bool{}, map[string]bool{}, maxInstructions
	for _, f := range found {
		there[f.Path] = true
		if f.Problem == "" && holds(f) {
			said[f.SHA256], room = true, room-max(told[f.Path].Bytes, 0)
		}
	}
	for _, f := range found {
		_, old := told[f.Path]
		if holds(f) || f.Problem == "" && !old && said[f.SHA256] {
			continue
		}
		said[f.SHA256] = true
		tell = append(tell, f.safe())
	}
	fit(tell, room)
	tell = slices.DeleteFunc(tell, holds) // there was no room before, and there is none now
	for _, k := range known {
		if !there[k.Path] {
			tell = append(tell, instructionFile{Instruction: session.Instruction{Path: k.Path, Gone: true}})
		}
	}
	return tell
}

// fit leaves out the text of files for which there is no room, the broadest first.
func fit(files []instructionFile, room int) {
	for i := len(files) - 1; i >= 0; i-- {
		f := &files[i]
		if f.Problem != "" {
			continue
		}
		if f.Bytes > room {
			*f = problem(f.Path, fmt.Sprintf("all instructions together are more than %d KiB", maxInstructions>>10))
			continue
		}
		room -= f.Bytes
	}
}

func problem(path, what string) instructionFile {
	return instructionFile{Instruction: session.Instruction{Path: path, Problem: what}}
}

// scan reads all files that are there, the broadest first.
func (in *Instructions) scan(visited []string) (files []instructionFile) {
	if in.User != "" {
		if f, ok := readInstructions(in.User, ""); ok {
			files = append(files, f)
		}
	}
	for _, dir := range in.dirs(visited) {
		for _, pair := range instructionNames {
			for _, name := range pair {
				if f, ok := readInstructions(filepath.Join(dir, name), in.Root); ok {
					files = append(files, f)
					break
				}
			}
		}
	}
	return files
}

// dirs are the directories that may hold files: from the root to the working
// directory, then those below the root on the way to what was visited.
func (in *Instructions) dirs(visited []string) []string {
	var dirs, nested []string
	listed := map[string]bool{}
	for dir := range upward(in.Cwd, in.Root) {
		listed[dir] = true
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	for _, v := range visited {
		for dir := range upward(v, in.Root) {
			if listed[dir] {
				break // and so are those above it
			}
			listed[dir] = true
			nested = append(nested, dir)
		}
	}
	slices.Sort(nested) // a directory before those in it
	return append(dirs, nested...)
}

// upward walks from dir up to root; there is nothing to walk if dir is elsewhere.
func upward(dir, root string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for within(root, dir) && yield(dir) && dir != root {
			dir = filepath.Dir(dir)
		}
	}
}

// within reports whether a path is root or below it. Both are clean and absolute.
func within(root, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// readInstructions reads a file; ok is false if there is none, or nothing in it. It
// follows links, but out of root only if that is empty.
func readInstructions(path, root string) (f instructionFile, ok bool) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return f, false // most are not there, and this is the cheap way to know
	}
	real, err := filepath.EvalSymlinks(path)
	path = strings.ToValidUTF8(path, "\ufffd") // as the log can hold it
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return f, false
	}
	if err != nil {
		return problem(path, reason(err)), true
	}
	if root != "" && !within(root, real) {
		return problem(path, "it is a link to a file outside the project"), true
	}
	data, err := readSmall(real)
	if err != nil {
		return problem(path, reason(err)), true
	}
	raw := strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	switch {
	case raw == "":
		return f, false
	case !utf8.ValidString(raw) || strings.ContainsRune(raw, 0):
		return problem(path, "it is not UTF-8 text"), true
	}
	sum := sha256.Sum256([]byte(raw))
	return instructionFile{session.Instruction{Path: path, SHA256: hex.EncodeToString(sum[:])}, raw}, true
}

// readSmall reads a regular file of bounded size. Opening anything else, a pipe say,
// could block for ever.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxInstructionFile+1))
	if err == nil && len(data) > maxInstructionFile {
		err = fmt.Errorf("it is larger than %d MiB", maxInstructionFile>>20)
	}
	return data, err
}

// reason is an error without the path, which stands beside it.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}
