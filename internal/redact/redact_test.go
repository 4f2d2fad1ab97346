package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// The secrets of these tests are made of parts, so that no scanner of this source
// takes them for real.
var body = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d"

func pem(title, eol string) string {
	line := strings.Repeat("MIIEvQIBADANBgkq", 4) + eol
	return "-----BEGIN " + title + "-----" + eol + strings.Repeat(line, 5) + "-----END " + title + "-----"
}

var hex32 = "0123456789abcdef0123456789abcdef"

// planted are secrets by the kind of their marker.
var planted = []struct{ kind, text, secret string }{
	{"API key", "sk-" + hex32, ""},
	{"API key", "sk-" + body + body[:8], ""},
	{"Anthropic key", "sk-ant-api03-" + body + "-_" + body, ""},
	{"OpenAI key", "sk-proj-" + body, ""},
	{"OpenRouter key", "sk-or-v1-" + hex32 + hex32, ""},
	{"GitHub token", "ghp_" + body[:36], ""},
	{"GitHub token", "gho_" + body[:36], ""},
	{"GitHub token", "github_pat_11ABCDEFG0" + body[:12] + "_" + body + body[:19], ""},
	{"GitLab token", "glpat-" + body[:20], ""},
	{"npm token", "npm_" + body[:36], ""},
	{"npm token", "//registry.npmjs.org/:_authToken=" + body[:36], body[:36]},
	{"Slack token", "xoxb-1234567890-1234567890-" + body[:24], ""},
	{"Slack token", "xoxp-1234567890-1234567890-" + body[:24], ""},
	{"Slack token", "xoxa-2-1234567890-" + body[:24], ""},
	{"Slack webhook", "https://hooks.slack.com/services/T00000000/B00000000/" + body[:24], body[:24]},
	{"Stripe key", "sk_live_" + body[:24], ""},
	{"Stripe key", "rk_test_" + body[:24], ""},
	{"Google key", "AIza" + body[:35], ""},
	{"AWS access key", "AKIA" + "ABCDEFGH23456789", ""},
	{"AWS secret key", "aws_secret_access_key = " + body, body},
	{"AWS secret key", `"SecretAccessKey": "` + body[:38] + `/+"`, body[:38]},
	{"AWS secret key", "export AWS_SECRET_ACCESS_KEY='" + body + "'", body},
	{"JSON web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + body, ""},
	{"bearer token", "Authorization: Bearer " + body, body},
	{"basic credentials", "authorization: Basic dXNlcjpodW50ZXIyMg==", "dXNlcjpodW50ZXIyMg=="},
	{"password in a URL", "postgres://app:hunter22@db.internal:5432/app", "hunter22"},
	{"private key", pem("PRIVATE KEY", "\n"), "MIIE"},
	{"private key", pem("RSA PRIVATE KEY", "\r\n"), "MIIE"},
	{"private key", pem("OPENSSH PRIVATE KEY", `\n`), "MIIE"},
	{"private key", "Proc-" + pem("EC PRIVATE KEY", "\n  12: "), "MIIE"},
	{"private key", pem("PRIVATE KEY", "\nmy_key.pem:12:"), "MIIE"},
	{"private key", pem("ENCRYPTED PRIVATE KEY", "\n> "), "MIIE"},
	{"private key", strings.Replace(pem("RSA PRIVATE KEY", "\n"), "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n", 1), "MIIE"},
	{"Hugging Face token", "hf_" + body[:34], ""},
	{"DigitalOcean token", "dop_v1_" + hex32 + hex32, ""},
	{"Azure storage key", "AccountKey=" + body + body + body[:6] + "==", body},
}

func TestD07KnownShapesAreTakenOut(t *testing.T) {
	t.Parallel()
	r := New(nil)
	for _, p := range planted {
		secret := p.secret
		if secret == "" {
			secret = p.text
		}
		for _, around := range []string{"%", "key: % and more", `{"key":"%"}`, `"a\n%\n"`, "\x1b[32m%\x1b[0m", "KEY=%;", "u=x%3D" + "%", "(%)", "`%`", "<%>", "\"\\u003c%\\u003e\""} {
			before, after, _ := cutLast(around)
			text := before + p.text + after
			clean, n := r.Text(text)
			if n != 1 || !strings.Contains(clean, "[redacted: "+p.kind+"]") || strings.Contains(clean, secret) {
				t.Errorf("%q became %q (%d)", text, clean, n)
			}
			if !strings.HasPrefix(clean, before) || !strings.HasSuffix(clean, after) {
				t.Errorf("%q lost what stood around: %q", text, clean)
			}
			if again, n := r.Text(clean); n != 0 || again != clean {
				t.Errorf("%q became %q in a second pass", clean, again)
			}
			if Marker(clean) != marker(p.kind) {
				t.Errorf("%q has the marker %q", clean, Marker(clean))
			}
		}
	}
}

// cutLast cuts around the last %.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '%')
	return s[:i], s[i+1:], true
}

// ordinary is text that looks like secrets to a hasty eye.
var ordinary = []string{
	"commit 86ff05c0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6",
	"id: 550e8400-e29b-41d4-a716-446655440000",
	`"integrity": "sha512-eyJhbGciOiJIUzI1NiJ9Zz8K1kk0p/AIzaSyD3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1+AKIAABCDEFGH23456789==",`,
	"golang.org/x/sys v0.20.0 h1:Od9JTbYCk261bKm4M/mw7AklTlFYIa0bIp9BgSm1S8Y=",
	"task-force, risk-assessment-2024-final, disk-0123456789abcdef0123, sk-learn",
	"the sk- prefix, sk-..., sk-<your key>, sk-internationalization",
	"ghp_ and ghp_xxx and ghp_${TOKEN}; npm_config_registry=https://registry.npmjs.org/ npm_lifecycle_event=test",
	"Authorization: Bearer $TOKEN, Authorization: Bearer <token>, bearer authentication-is-required-here",
	"https://user@host/path, git@github.com:a/b.git, http://localhost:8080/a@b, http://[::1]:80/",
	"postgres://user:password@localhost/db, amqp://${USER}:${PASS}@host, mongodb://%s:%s@%s, redis://default:default@h",
	"-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIEvQIBADANBgkq", 4) + "\n-----END CERTIFICATE-----",
	`const header = "-----BEGIN RSA PRIVATE KEY-----"; if strings.HasPrefix(s, header) { return parse(s) }`,
	"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
	"data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXSwibmFtZXMiOltdfQ==",
	"eyJhbGciOiJIUzI1NiJ9 alone, eyJ.eyJ., eyJhbGciOiJIUzI1NiJ9.css",
	"AKIAIOSFODNN7EXAMPLEMORE, AKIA, xAKIAABCDEFGH23456789",
	"aws_secret_access_key is the name; secretAccessKey: string; AWS_SECRET_ACCESS_KEY=$SECRET",
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
	"hf_hub_download, pypi-server, xoxo-kisses, gsk_test, whsec_, SG.Foo, -----, ------------------------",
	"[redacted: API key] and [redacted: GitHub token]", "",
}

func TestOrdinaryTextStays(t *testing.T) {
	t.Parallel()
	r := New([]Value{{"API key", "sk-own-0123456789"}})
	for _, text := range ordinary {
		if clean, n := r.Text(text); n != 0 || clean != text {
			t.Errorf("%q became %q", text, clean)
		}
	}
}

func TestD07ValuesAreTakenOutInAllForms(t *testing.T) {
	t.Parallel()
	value := "p\"ss<w/ö&rd+42\\end"
	quoted, _ := json.Marshal(value)
	forms := map[string]string{
		"plain": value, "json": string(quoted), "query": url.QueryEscape(value), "path": url.PathEscape(value),
		"base64": base64.StdEncoding.EncodeToString([]byte(value)), "basic": base64.StdEncoding.EncodeToString([]byte("me:" + value)),
		"more":      base64.URLEncoding.EncodeToString([]byte("user:" + value + "\n")),
		"in a word": "xx" + value + "yy",
	}
	for _, r := range []*Redactor{New([]Value{{"value of PW", value}}), ValuesOnly([]Value{{"value of PW", value}})} {
		for name, form := range forms {
			clean, n := r.Text("a " + form + " b")
			if n != 1 || !strings.Contains(clean, "[redacted: value of PW]") || strings.Contains(clean, form) {
				t.Errorf("%s: %q became %q", name, form, clean)
			}
		}
		if again, n := r.Text("[redacted: value of PW]"); n != 0 {
			t.Errorf("the marker became %q", again)
		}
	}
	if clean, n := ValuesOnly([]Value{{"API key", "sk-own-0123456789"}}).Text("ghp_" + body[:36]); n != 0 {
		t.Errorf("shapes are looked for among values: %q", clean)
	}
	for _, useless := range []string{"", "short", "redacted: va"} {
		r := New([]Value{{"value of X", useless}})
		if clean, n := r.Text("short [redacted: value of X]"); n != 0 {
			t.Errorf("%q is looked for: %q", useless, clean)
		}
	}
}

func TestLongestValueWins(t *testing.T) {
	t.Parallel()
	r := New([]Value{{"short one", "abcdefgh"}, {"long one", "abcdefghijkl"}})
	clean, _ := r.Text("abcdefgh abcdefghijkl abcdefghij")
	if want := "[redacted: short one] [redacted: long one] [redacted: short one]ij"; clean != want {
		t.Errorf("got %q", clean)
	}
	long := strings.Repeat("0123456789abcdef", 700) // more than one piece
	clean, n := New([]Value{{"value of BLOB", long}}).Text("<" + long + ">")
	if n == 0 || strings.Contains(clean, "0123456789abcdef") {
		t.Errorf("%d pieces: %.200q", n, clean)
	}
}

func TestPrivateKeyEndsWithItsFooter(t *testing.T) {
	t.Parallel()
	one := pem("RSA PRIVATE KEY", "\n")
	for text, want := range map[string]string{
		"a " + one + "\nplain text": "a -----BEGIN [redacted: private key]\nplain text",
		one + "\n" + one + "\nend":  "-----BEGIN [redacted: private key]\n-----BEGIN [redacted: private key]\nend",
		// cut before its footer, then another one
		one[:200] + "\n" + one + "\nend":                   "-----BEGIN [redacted: private key]\nend",
		"-" + strings.ReplaceAll(one, "\n", "\n-") + "\n!": "------BEGIN [redacted: private key]\n!",
		one[:200] + strings.Repeat("A", 2*maxPEM):          "-----BEGIN [redacted: private key]" + strings.Repeat("A", 200+2*maxPEM-maxPEM-firstBody(one)),
	} {
		if clean, _ := New(nil).Text(text); clean != want {
			t.Errorf("%.60q became %.100q (%d bytes), want %.100q (%d)", text, clean, len(clean), want, len(want))
		}
	}
}

// firstBody is how much of a block is read before it counts as one.
func firstBody(block string) int { return strings.Index(block, "-----\n") + 6 + pemRun }

func TestHeldIsOnlyWhatMayBecomeASecret(t *testing.T) {
	t.Parallel()
	r := New([]Value{{"API key", "zz-own-0123456789"}})
	for text, held := range map[string]int{
		"building... 42%": 0, "Password: ": 0, "Continue? [y/N] ": 0, "the risk": 0, "done\n": 0,
		"see https://example.com/f": 0, "sk-": 3, "ghp_abc": 7, "zz-own": 6, "plain sk-0123": 7,
		"x " + strings.Repeat("-", 5) + "BEGIN": 6, "eyJ" + strings.Repeat("f", 2000): 0,
		"https://" + strings.Repeat("f", 300): 0, "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("b c ", 300): 0,
	} {
		s := r.Stream()
		out := string(s.Next([]byte(text), false))
		if s.Held() != held || out+text[len(out):] != text {
			t.Errorf("%.40q: %d held, want %d; out %.60q", text, s.Held(), held, out)
		}
		if rest := string(s.Next(nil, true)); out+rest != text {
			t.Errorf("%.40q came out as %.80q", text, out+rest)
		}
	}
}

func TestMarkerIsKnownAgain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a [redacted: GitHub token] b": "[redacted: GitHub token]", "[redacted: x]": "[redacted: x]",
		"[redacted: " + strings.Repeat("a", 200) + "]": "", "[redacted: a\nb]": "", "[redacted: ]": "", "[redacted": "", "": "",
		"[redacted: [redacted: key]": "[redacted: key]",
	} {
		if got := Marker(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
