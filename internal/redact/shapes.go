package redact

// shape is a kind of key that begins with a fixed text.
type shape struct {
	kind    string
	starts  []string
	class   *[256]bool // of what follows
	min     int        // bytes that must follow
	digit   bool       // one of the first of them is a digit: words have none
	keep    bool       // the start is not a part of the secret
	lettery bool       // nothing that base64 may hold stands before it
}

// digitWithin is where a digit is looked for, in bytes: no key of this length is
// without one.
const digitWithin = 64

var (
	alnum   = classOf("a-zA-Z0-9")
	word    = classOf("a-zA-Z0-9_-")
	wordDot = classOf("a-zA-Z0-9._-")
	base64s = classOf("a-zA-Z0-9+/=_-")
	bearer  = classOf("a-zA-Z0-9._~+/=-")
	path    = classOf("a-zA-Z0-9/_-")
)

// shapes are the keys of which enough is known to find them by their looks alone. What
// is longer comes first where one start is the beginning of another.
var shapes = []shape{
	{kind: "Anthropic key", starts: []string{"sk-ant-"}, class: word, min: 20},
	{kind: "OpenAI key", starts: []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, class: word, min: 20},
	{kind: "OpenRouter key", starts: []string{"sk-or-v1-"}, class: word, min: 20},
	{kind: "API key", starts: []string{"sk-"}, class: alnum, min: 20, digit: true},
	{kind: "API key", starts: []string{"gsk_", "xai-", "pplx-"}, class: alnum, min: 32, digit: true},
	{kind: "GitHub token", starts: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, class: alnum, min: 36},
	{kind: "GitHub token", starts: []string{"github_pat_"}, class: wordDot, min: 40, digit: true},
	{kind: "GitLab token", starts: []string{"glpat-", "glrt-", "gldt-", "glptt-"}, class: wordDot, min: 20},
	{kind: "npm token", starts: []string{"npm_"}, class: alnum, min: 36},
	{kind: "npm token", starts: []string{"_authToken="}, class: base64s, min: 16, digit: true, keep: true},
	{kind: "PyPI token", starts: []string{"pypi-AgE"}, class: word, min: 40},
	{kind: "Hugging Face token", starts: []string{"hf_"}, class: alnum, min: 34},
	{kind: "Slack token", starts: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"}, class: word, min: 20, digit: true},
	{kind: "Slack webhook", starts: []string{".slack.com/services/", ".slack.com/workflows/"}, class: path, min: 20, digit: true, keep: true},
	{kind: "Discord webhook", starts: []string{"/api/webhooks/"}, class: path, min: 40, digit: true, keep: true},
	{kind: "Stripe key", starts: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, class: alnum, min: 16},
	{kind: "Stripe webhook secret", starts: []string{"whsec_"}, class: base64s, min: 32, digit: true},
	{kind: "Google key", starts: []string{"AIza"}, class: word, min: 35, digit: true, lettery: true},
	{kind: "Google token", starts: []string{"ya29."}, class: wordDot, min: 30, digit: true},
	{kind: "Google client secret", starts: []string{"GOCSPX-"}, class: word, min: 24},
	{kind: "SendGrid key", starts: []string{"SG."}, class: wordDot, min: 60, digit: true},
	{kind: "DigitalOcean token", starts: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, class: hexBytes, min: 64},
	{kind: "Shopify token", starts: []string{"shpat_", "shpss_", "shpca_"}, class: hexBytes, min: 32},
	{kind: "age key", starts: []string{"AGE-SECRET-KEY-1"}, class: alnum, min: 50},
	{kind: "Azure storage key", starts: []string{"AccountKey="}, class: base64s, min: 80, keep: true},
	{kind: "bearer token", starts: []string{"Bearer ", "bearer ", "BEARER "}, class: bearer, min: 16, digit: true, keep: true},
	{kind: "basic credentials", starts: []string{"n: Basic ", "n: basic "}, class: base64s, min: 8, keep: true},
}

// special are the shapes that need more than a class.
var special = []struct {
	kind   string
	starts []string
	loose  bool
	judge  judge
}{
	{"AWS access key", []string{"AKIA", "ASIA"}, false, awsID},
	{"AWS secret key", []string{"t_access_key", "T_ACCESS_KEY", "tAccessKey"}, true, awsSecret},
	{"JSON web token", []string{"eyJ"}, false, webToken},
	{"password in a URL", []string{"://"}, false, urlPassword},
	{"private key", []string{"-BEGIN "}, false, privateKey},
}

func shapeAnchors() (anchors []anchor) {
	for _, s := range shapes {
		for _, start := range s.starts {
			anchors = append(anchors, anchor{text: start, kind: s.kind, loose: s.keep, judge: s.judge})
		}
	}
	for _, s := range special {
		for _, start := range s.starts {
			anchors = append(anchors, anchor{text: start, kind: s.kind, loose: s.loose, judge: s.judge})
		}
	}
	return anchors
}

func (s shape) judge(left, b []byte, start, at int, end bool) (match, state) {
	if s.lettery && in64Text(left) {
		return match{}, no
	}
	limit := at + max(s.min, digitWithin)
	stop := run(b, at, limit, s.class)
	known := stop-at >= s.min
	if known && s.digit {
		known = hasDigit(b[at:stop])
	}
	switch {
	case known:
		m := match{from: start, to: stop, tail: tail{class: s.class}}
		if s.keep {
			m.from = at
		}
		return m, yes
	case stop == len(b) && stop < limit && !end:
		return match{}, more
	}
	return match{}, no
}

// in64Text reports whether left ends as base64 may, so that a start behind it is
// more likely a part of that.
func in64Text(left []byte) bool {
	return len(left) > 0 && (left[len(left)-1] == '+' || left[len(left)-1] == '/')
}

func hasDigit(b []byte) bool {
	for _, c := range b {
		if c >= '0' && c <= '9' {
			return true
		}
	}
	return false
}
