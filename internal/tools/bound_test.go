package tools

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dsh/internal/jobs"
)

// long is what a tool without limits of its own might say.
func long() string { return "head " + strings.Repeat("\u4e2d\n", 20_000) + "tail" }

func TestPIP18ALongResultIsAnArtifact(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	r := ranWith(t, Env{Save: jobs.NewArtifacts(dir, 0, 0).Save}, Result{Text: long()})
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if whole, err := os.ReadFile(files[0]); err != nil || string(whole) != long() {
		t.Errorf("the artifact has %d bytes, %v", len(whole), err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if len(r.Text) > maxInline || !strings.HasPrefix(r.Text, "head ") || !strings.HasSuffix(r.Text, "tail") {
		t.Errorf("%d bytes: %s", len(r.Text), clip(r.Text))
	}
	wantText(t, r.Text, "bytes left out; the full text is in "+files[0]+": read it")
}

func TestPIP19AnArtifactThatCannotBeKept(t *testing.T) {
	t.Parallel()
	full := func(string, func(io.Writer) error) (string, error) { return "", errors.New("no space") }
	half := func(string, func(io.Writer) error) (string, error) { return "/out/x.log", jobs.ErrTooLong }
	for text, env := range map[string]Env{
		"the full text is unavailable (no space)":    {Save: full},
		"its beginning is in /out/x.log (it was too": {Save: half},
		"could not be kept: narrow the call":         {},
	} {
		r := ranWith(t, env, Result{Text: long()})
		if len(r.Text) > maxInline || r.IsError {
			t.Errorf("%d bytes, error %v", len(r.Text), r.IsError)
		}
		wantText(t, r.Text, text)
	}
}

func TestPIP20ATextThatItsToolHasCutIsLeftAlone(t *testing.T) {
	t.Parallel()
	if r := ranWith(t, Env{}, Result{Text: long(), Bounded: true}); r.Text != long() {
		t.Errorf("%d bytes", len(r.Text))
	}
}

// ranWith is a result as the registry passes it on.
func ranWith(t *testing.T, env Env, res Result) Result {
	t.Helper()
	reg := registry(t, fake{name: "f", run: func(context.Context, Env, json.RawMessage) (Result, error) { return res, nil }})
	return prepared(t, reg, "f", "{}").Run(t.Context(), env)
}
