package tools

import (
	"fmt"
	"strings"
	"testing"

	"dsh/internal/redact"
)

// key is a private key as files hold it, of n lines of its own.
func key(n int) (lines []string) {
	lines = append(lines, "-----BEGIN RSA PRIVATE KEY-----")
	for i := range n {
		lines = append(lines, fmt.Sprintf("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt%05d", i))
	}
	return append(lines, "-----END RSA PRIVATE KEY-----")
}

// hiding is a bench's surroundings in which secrets are taken out.
func (b *bench) hiding() Env {
	env, known := b.env(), redact.New(nil)
	env.Redact = func(s string) string { clean, _ := known.Text(s); return clean }
	return env
}

// TestAPieceOfAPrivateKeyIsNotShown: it is known by a line that is not read.
func TestAPieceOfAPrivateKeyIsNotShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	env := b.hiding()
	const lead = 70_000 // more than a buffer of the search holds
	text := strings.Repeat("one\n", lead) + strings.Join(key(90), "\r\n") + "\nafter the key\nplainWord\n"
	b.put("key.pem", text)
	for _, offset := range []int{2, 45, 90} {
		r := b.callWith(env, "read", "file_path", "key.pem", "offset", lead+offset)
		if strings.Contains(r.Text, "MIIE") {
			t.Errorf("from line %d on: %s", offset, clip(r.Text))
		}
		wantText(t, r.Text, fmt.Sprintf("%d: after the key\n%d: plainWord\n", lead+93, lead+94))
		wantText(t, r.Text, fmt.Sprintf("%d: %s\n", lead+offset, secretPart))
	}
	for _, context := range []int{0, 2} {
		r := b.callWith(env, "grep", "pattern", "00$|plainW|0089", "path", "key.pem", "context", context)
		if strings.Contains(r.Text, "MIIE") {
			t.Errorf("%d lines of context: %s", context, clip(r.Text))
		}
		wantText(t, r.Text, "plainWord")
		wantText(t, r.Text, secretPart)
	}
}

// TestLinesThatLookLikeAKeyStay where none begins before.
func TestLinesThatLookLikeAKeyStay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	env := b.hiding()
	lines := key(20)
	text := strings.Join(lines[1:21], "\n") + "\n"
	b.put("data.b64", text)
	if r := b.callWith(env, "read", "file_path", "data.b64", "offset", 5); strings.Contains(r.Text, secretPart) {
		t.Error(clip(r.Text))
	}
	if r := b.callWith(env, "grep", "pattern", "MIIE", "path", "data.b64"); strings.Contains(r.Text, secretPart) {
		t.Error(clip(r.Text))
	}
}
