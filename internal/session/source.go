package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxUnpacked bounds what a compressed log may grow to in memory: a small file can
// claim to hold anything.
const maxUnpacked = 1 << 30

const packedSuffix = ".zst" // and .zstd

// source is a log being read: a file, or the unpacked content of one.
type source struct {
	io.ReaderAt
	size  int64
	short bool // the compressed stream ended too early; what came is there
	close func() error
}

func packed(path string) bool {
	return strings.HasSuffix(path, packedSuffix) || strings.HasSuffix(path, packedSuffix+"d")
}

// openSource opens a log to read what it holds now.
func openSource(path string) (*source, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &NotFoundError{What: path}
	}
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("read session %s: %w", path, err)
	}
	if !packed(path) {
		return &source{ReaderAt: f, size: info.Size(), close: f.Close}, nil
	}
	defer f.Close()
	return unpack(f, path)
}

// unpack reads a compressed log, one frame or many. The frame that a crash left
// half-written yields its complete blocks.
func unpack(f io.Reader, path string) (*source, error) {
	dec, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", path, err)
	}
	defer dec.Close()
	text, err := io.ReadAll(io.LimitReader(dec, maxUnpacked+1))
	short := errors.Is(err, io.ErrUnexpectedEOF)
	if len(text) > maxUnpacked {
		err = fmt.Errorf("it unpacks to more than %d bytes", maxUnpacked)
	}
	if err != nil && !(short && len(text) > 0) {
		return nil, &DamagedError{Path: path, Line: bytes.Count(text, []byte{'\n'}) + 1, Cause: err}
	}
	return &source{ReaderAt: bytes.NewReader(text), size: int64(len(text)), short: short, close: func() error { return nil }}, nil
}

// loadFile loads the log at path.
func loadFile(path string) (*loaded, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.close()
	return load(src, src.size, path)
}
