package redact

import (
	"bytes"
	"strings"
)

var (
	awsBytes    = classOf("A-Z0-9")
	secretBytes = classOf("a-zA-Z0-9/+")
	assignBytes = classOf(" \t\\\"':=>")
	pemLine     = classOf("A-Z0-9 ")
	// pemBody holds what stands before the lines too: numbers, signs, names of files.
	pemBody   = classOf("a-zA-Z0-9+/=:,._@~|>\\ \t\r\n-")
	pemBytes  = classOf("a-zA-Z0-9+/")
	userBytes = notIn("/?#@:\"'`<>[]{}()\\|,;=&")
	passBytes = notIn("/?#@\"'`<>[]\\|")
)

const (
	awsIDSize     = 16 // behind AKIA
	awsSecretSize = 40
	maxAssign     = 12 // between a name and its value: `": "`, ` => '`

	jwtPart    = 10      // the least of each part
	maxJWTHead = 1 << 10 // a header with a key id and a certificate's digest
	jwtSecond  = ".eyJ"

	maxUser, maxPass, minPass = 128, 256, 3

	dashes      = 5
	maxPEMTitle = 48       // "ENCRYPTED PRIVATE KEY-----" and the like
	pemLook     = 320      // where the body must have begun: headers of old formats stand before it
	pemRun      = 24       // base64 in a row that only a body has
	maxPEM      = 24 << 10 // RSA with 16384 bits takes 13 KB, line numbers some more
)

// awsID is upper case of one length, and no part of a longer word.
func awsID(left, b []byte, start, at int, end bool) (match, state) {
	if in64Text(left) {
		return match{}, no
	}
	stop := run(b, at, at+awsIDSize+1, awsBytes)
	switch {
	case stop == len(b) && stop-at <= awsIDSize && !end:
		return match{}, more
	case stop-at != awsIDSize || stop < len(b) && wordBytes[b[stop]]:
		return match{}, no
	}
	return match{from: start, to: stop}, yes
}

// awsSecret looks like any base64: only its name tells it.
func awsSecret(_, b []byte, _, at int, end bool) (match, state) {
	from := run(b, at, at+maxAssign, assignBytes)
	if from == len(b) && from-at < maxAssign && !end {
		return match{}, more
	}
	if !bytes.ContainsAny(b[at:from], ":=>") {
		return match{}, no
	}
	stop := run(b, from, from+awsSecretSize+1, secretBytes)
	switch {
	case stop == len(b) && stop-from <= awsSecretSize && !end:
		return match{}, more
	case stop-from != awsSecretSize:
		return match{}, no
	}
	return match{from: from, to: stop}, yes
}

// webToken is known by its second part: both begin like a JSON object.
func webToken(left, b []byte, start, at int, end bool) (match, state) {
	if in64Text(left) || len(left) > 0 && left[len(left)-1] == '-' {
		return match{}, no
	}
	dot := run(b, at, at+maxJWTHead, word)
	if dot == len(b) && dot-at < maxJWTHead && !end {
		return match{}, more
	}
	if dot-at < jwtPart {
		return match{}, no
	}
	second := b[dot:min(len(b), dot+len(jwtSecond))]
	if !strings.HasPrefix(jwtSecond, string(second)) {
		return match{}, no
	}
	need := dot + len(jwtSecond) + jwtPart
	stop := run(b, dot+len(second), need, word)
	switch {
	case stop == need:
		return match{from: start, to: stop, tail: tail{class: wordDot}}, yes
	case stop == len(b) && !end:
		return match{}, more
	}
	return match{}, no
}

// urlPassword is what stands between user: and @.
func urlPassword(_, b []byte, _, at int, end bool) (match, state) {
	colon := run(b, at, at+maxUser, userBytes)
	if colon == len(b) {
		return match{}, moreUnless(end)
	}
	if b[colon] != ':' {
		return match{}, no
	}
	from := colon + 1
	stop := run(b, from, from+maxPass, passBytes)
	if stop == len(b) {
		return match{}, moreUnless(end)
	}
	user, pass := string(b[at:colon]), string(b[from:stop])
	if b[stop] != '@' || len(pass) < minPass || placeholder(user, pass) {
		return match{}, no
	}
	return match{from: from, to: stop}, yes
}

func moreUnless(end bool) state {
	if end {
		return no
	}
	return more
}

// placeholder reports whether a password is an example, a variable or a format, and
// no secret.
func placeholder(user, pass string) bool {
	switch lower := strings.ToLower(pass); lower {
	case "password", "passwd", "pass", "secret", "pwd", "token", strings.ToLower(user):
		return true
	}
	return strings.ContainsAny(pass[:1], "$%{*") || strings.Trim(pass, "xX.") == ""
}

// privateKey is a PEM block whose title says so and whose body has begun. It may be
// on one line with escapes, and have numbers or signs before its lines. That it is
// one stays to be seen. The anchor is not its first dash: there are lines of those.
func privateKey(left, b []byte, _, at int, end bool) (match, state) {
	if !bytes.HasSuffix(left, []byte("----")) {
		return match{}, no
	}
	title := run(b, at, at+maxPEMTitle, pemLine)
	body := title + dashes
	if title-at == maxPEMTitle {
		return match{}, no
	}
	if body > len(b) && !end && strings.Trim(string(b[title:]), "-") == "" {
		return match{}, more
	}
	if body > len(b) || string(b[title:body]) != "-----" || !bytes.Contains(b[at:title], []byte("PRIVATE KEY")) {
		return match{}, no
	}
	in := 0
	limit := body + pemLook
	i := body
	for ; i < min(limit, len(b)) && pemBody[b[i]]; i++ {
		if in++; !pemBytes[b[i]] {
			in = 0
		}
		if in == pemRun {
			return match{from: at, to: i + 1, tail: tail{class: pemBody, pem: true}}, yes
		}
	}
	if i == len(b) && i < limit && !end {
		return match{}, more
	}
	return match{}, no
}

// notIn is the class of printable characters other than these.
func notIn(chars string) *[256]bool {
	var class [256]bool
	for c := '!'; c <= '~'; c++ {
		class[c] = !strings.ContainsRune(chars, c)
	}
	return &class
}
