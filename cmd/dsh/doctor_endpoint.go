package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"dsh/internal/early"
	"dsh/internal/llm"
	"dsh/internal/llm/openai"
)

// stageWait bounds each way station to an endpoint.
const stageWait = 5 * time.Second

// proxyVariables are those that net/http heeds, by the scheme of the endpoint.
var proxyVariables = map[string][]string{"https": {"HTTPS_PROXY", "https_proxy"}, "http": {"HTTP_PROXY", "http_proxy"}}

// target is the endpoint that the settings lead to.
func (p *patient) target() (name string, u *url.URL, model string, err error) {
	name, provider, model, err := p.settings.Route()
	if err != nil || name == scriptProvider {
		return name, nil, model, err
	}
	u, err = url.Parse(provider.BaseURL)
	return name, u, model, err
}

// unread is the finding of checks that need the settings.
func (p *patient) unread() finding {
	return finding{Status: worry, What: "not checked: the settings cannot be read", Do: "repair them first, and check again"}
}

func checkProxy(_ context.Context, p *patient) finding {
	if p.settings == nil {
		return p.unread()
	}
	name, u, _, err := p.target()
	if err != nil || name == scriptProvider {
		return finding{Status: healthy, What: "no endpoint, no proxy"}
	}
	// net/http goes without a proxy whose URL it cannot read, and says nothing.
	if name := p.proxyName(u); strings.Contains(p.s.getenv(name), "://") {
		if _, err := url.Parse(p.s.getenv(name)); err != nil { // its text would show the password
			return finding{Status: broken, What: name + " is no URL, so it is not used", Do: "write it as http://host:port; a % in a password is %25"}
		}
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || proxy == nil {
		return p.noProxy(u)
	}
	what := fmt.Sprintf("%s goes through %s://%s (%s)", u.Host, proxy.Scheme, proxy.Host, p.proxyName(u))
	if proxy.User != nil {
		what += ", with a user or password"
	}
	return finding{Status: healthy, What: what}
}

// proxyName is the variable that names the proxy for a URL.
func (p *patient) proxyName(u *url.URL) string {
	for _, name := range proxyVariables[u.Scheme] {
		if p.s.getenv(name) != "" {
			return name
		}
	}
	return "the environment"
}

func (p *patient) noProxy(u *url.URL) finding {
	if name := p.proxyName(u); name != "the environment" {
		return finding{Status: healthy, What: fmt.Sprintf("none for %s: NO_PROXY or its being on this machine excepts it from %s", u.Host, name)}
	}
	for _, name := range []string{"ALL_PROXY", "all_proxy"} {
		if p.s.getenv(name) != "" {
			return finding{Status: worry, What: "none: " + name + " is set, which dsh does not heed", Do: "export " + proxyVariables[u.Scheme][0] + " if the way out is a proxy"}
		}
	}
	return finding{Status: healthy, What: "none"}
}

func checkEndpoint(ctx context.Context, p *patient) finding {
	if p.settings == nil {
		return p.unread()
	}
	name, u, model, err := p.target()
	switch {
	case err != nil:
		return finding{Status: broken, What: err.Error(), Do: "choose a model: dsh models lists those that are known"}
	case name == scriptProvider:
		return finding{Status: healthy, What: "a script plays the model"}
	case p.offline:
		return finding{Status: healthy, What: fmt.Sprintf("%s (%s), not tried: --offline", u, p.settings.Origin("provider."+name+".base_url"))}
	}
	v := &visit{p: p, name: name, model: model, url: u}
	if f := v.reach(ctx); f != nil {
		return *f
	}
	return v.ask(ctx)
}

// visit goes the way to an endpoint station by station, so that a report says at
// which of them it ends.
type visit struct {
	p           *patient
	name, model string
	url         *url.URL
	passed      []string
}

// reach connects, unless a proxy does that. It returns a finding if that fails.
func (v *visit) reach(ctx context.Context) *finding {
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: v.url}); err != nil || proxy != nil {
		v.passed = append(v.passed, "through a proxy")
		return nil
	}
	host, port := v.url.Hostname(), v.url.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[v.url.Scheme]
	}
	if net.ParseIP(host) == nil {
		if err := v.stage(ctx, "DNS", func(ctx context.Context) error {
			_, err := net.DefaultResolver.LookupHost(ctx, host)
			return err
		}); err != nil {
			return v.fail("DNS", fmt.Errorf("host %s was not found", host), "check the base URL ("+v.origin()+"), the network and its DNS; behind a proxy, export HTTPS_PROXY")
		}
	}
	var conn net.Conn
	err := v.stage(ctx, "TCP", func(ctx context.Context) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
		return err
	})
	if err != nil {
		return v.fail("TCP", plainNet(err), "is the server running, and the base URL ("+v.origin()+") right? a firewall may also be in the way")
	}
	defer conn.Close()
	if v.url.Scheme != "https" {
		return nil
	}
	if err := v.stage(ctx, "TLS"+authority(v.p.s.getenv), func(ctx context.Context) error {
		return tls.Client(conn, &tls.Config{ServerName: host}).HandshakeContext(ctx)
	}); err != nil {
		return v.fail("TLS"+authority(v.p.s.getenv), err, tlsAdvice(err))
	}
	return nil
}

func (v *visit) stage(ctx context.Context, name string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stageWait)
	defer cancel()
	start := time.Now()
	err := do(ctx)
	if err == nil {
		v.passed = append(v.passed, fmt.Sprintf("%s %d ms", name, time.Since(start).Milliseconds()))
	}
	return err
}

func (v *visit) origin() string {
	return v.p.settings.Origin("provider." + v.name + ".base_url").String()
}

// so is the way that was gone, with what came next.
func (v *visit) so(next string) string {
	return v.url.String() + ": " + strings.Join(append(v.passed, next), ", ")
}

func (v *visit) fail(stage string, err error, do string) *finding {
	return &finding{Status: broken, What: v.so(stage + " failed: " + err.Error()), Do: do}
}

// ask makes one request that costs nothing.
func (v *visit) ask(ctx context.Context) finding {
	key, origin, err := v.p.settings.Key(v.name)
	if err != nil {
		return finding{Status: healthy, What: v.so("no request made without a key")}
	}
	if key == "" {
		key = "none"
	}
	profile, _ := openai.ProfileNamed("lenient")
	client, err := openai.New(openai.Options{BaseURL: v.url.String(), Key: key, KeyName: origin.Name, Profile: profile, UserAgent: "dsh/" + early.Version})
	if err != nil {
		return finding{Status: broken, What: err.Error(), Do: "change the base URL (" + v.origin() + ")"}
	}
	defer client.Close()
	var models []string
	if err := v.stage(ctx, "GET /models", func(ctx context.Context) (err error) {
		models, err = client.Models(ctx)
		return err
	}); err != nil {
		return v.refused(err)
	}
	return v.answered(models)
}

func (v *visit) refused(err error) finding {
	f := v.fail("GET /models", err, "read what it says; dsh run says the same")
	var failure *llm.Failure
	if !errors.As(err, &failure) {
		return *f
	}
	f.What = v.so("GET /models failed: " + failure.Message)
	switch {
	case failure.Code == llm.CodeAborted:
		f.What, f.Do = v.so(fmt.Sprintf("GET /models: no answer within %s", stageWait)), "try again; a proxy or firewall may hold it back"
	case failure.Code == llm.CodeAuth:
		f.Do = "dsh login " + v.name + " stores another key, and tries it first; a variable beats a stored key"
	case failure.Code == llm.CodeQuota:
		f.Status, f.Do = worry, "top up the account, or choose another model"
	case failure.Status == http.StatusNotFound:
		f.Status, f.Do = worry, "an endpoint may do without /models; if runs fail too, the base URL ("+v.origin()+") is wrong: most end in /v1"
	case failure.Code == llm.CodeServer, failure.Code == llm.CodeRateLimit:
		f.Do = "wait, and try again"
	case failure.Code == llm.CodeTransport:
		f.Do = "check the network, the proxy and the base URL (" + v.origin() + ")"
	}
	return *f
}

// answered holds the list against the model that is chosen. DeepSeek's aliases are
// not in its list.
func (v *visit) answered(models []string) finding {
	model := v.model
	if info, known := llm.Lookup(v.name, model); known {
		model = info.Name
	}
	what := v.so(fmt.Sprintf("%d models", len(models)))
	if len(models) > 0 && !slices.Contains(models, model) {
		return finding{Status: worry, What: what + ", " + model + " not among them", Do: "choose one that it lists: " + names(models)}
	}
	return finding{Status: healthy, What: what}
}

// authority names the certificates in force, if they are not the system's.
func authority(getenv func(string) string) string {
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if path := getenv(name); path != "" {
			if _, err := os.Stat(path); err != nil {
				return " (" + name + " cannot be read)"
			}
			return " (" + name + ")"
		}
	}
	return ""
}

func tlsAdvice(err error) string {
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	switch {
	case errors.As(err, &record):
		return "it does not speak TLS: is the base URL to begin with http://, or the port another?"
	case errors.As(err, &verify):
		return "if your network has an authority of its own, export SSL_CERT_FILE=/path/to/its.pem; also look at this machine's clock"
	}
	return "a proxy or firewall may be in the way"
}

// plainNet is the error without the addresses around it.
func plainNet(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
