package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"syscall"
	"time"

	"dsh/internal/llm"
)

// notFound tells a model that is not there from a path that is not there.
var notFound = regexp.MustCompile(`(?i)model`)

// ended is the finish of a stream that an error ended.
func (c *Client) ended(ctx context.Context, r *llm.Request, err error) *llm.Finish {
	if ctx.Err() != nil {
		return &llm.Finish{Kind: llm.Aborted, Failure: &llm.Failure{Code: llm.CodeAborted, Message: "the request was cancelled"}}
	}
	var f *llm.Failure
	var no *refusal
	switch {
	case errors.As(err, &no):
		f = no.Failure
	case !errors.As(err, &f):
		f = c.transport(err)
	}
	said := *f
	c.explain(r, &said)
	return &llm.Finish{Kind: llm.Failed, Failure: &said}
}

// transport classifies an error of the connection.
func (c *Client) transport(err error) *llm.Failure {
	f := &llm.Failure{Code: llm.CodeTransport}
	var dns *net.DNSError
	var op *net.OpError
	var netErr net.Error
	switch {
	case isCertificate(err):
		f.Final = true
		f.Message = fmt.Sprintf("%s is not trusted: %v; check the base URL, the proxy and the system's certificates", c.host, cause(err))
	case errors.As(err, &op) && op.Op == "proxyconnect":
		f.Message = fmt.Sprintf("the proxy in the way to %s does not answer: %v; check HTTPS_PROXY", c.host, cause(err))
	case errors.As(err, &dns):
		f.Message = fmt.Sprintf("host %s was not found; check the base URL and the network", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Message = fmt.Sprintf("%s refused the connection; is the server running, is the base URL right?", c.host)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		f.Code = llm.CodeStreamClosed
		f.Message = fmt.Sprintf("%s closed the connection before the answer was complete", c.host)
	case errors.As(err, &netErr) && netErr.Timeout():
		f.Code = llm.CodeTimeout
		f.Message = fmt.Sprintf("%s could not be reached in time; check the network and the base URL", c.host)
	default:
		f.Message = fmt.Sprintf("the connection to %s failed: %v", c.host, cause(err))
	}
	return f
}

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError // plain HTTP where TLS was expected
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid) || errors.As(err, &record)
}

// cause is the error without the method and URL around it.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// explain adds to what the endpoint said what the user can do about it, and takes
// out what must not be shown.
func (c *Client) explain(r *llm.Request, f *llm.Failure) {
	said := oneLine(f.Message, c.options.Key)
	model := r.Header.Config.Model
	switch {
	case f.Code == llm.CodeAuth && f.Status == 403:
		f.Message = fmt.Sprintf("%s does not allow this (403): %s; check %s and what it may use", c.host, said, c.options.keyName())
	case f.Code == llm.CodeAuth && c.options.Key == "":
		f.Message = fmt.Sprintf("%s wants a key (%d): %s; set %s", c.host, f.Status, said, c.options.keyName())
	case f.Code == llm.CodeAuth:
		f.Message = fmt.Sprintf("%s refused the key (%d): %s; check %s", c.host, f.Status, said, c.options.keyName())
	case f.Code == llm.CodeQuota:
		f.Message = fmt.Sprintf("the account at %s has nothing left: %s; top it up, or choose another model", c.host, said)
	case f.Code == llm.CodeConfig && f.Status == 404 && model != "" && notFound.MatchString(said):
		f.Message = fmt.Sprintf("%s has no model %q (404): %s; see dsh models", c.host, model, said)
	case f.Code == llm.CodeConfig && f.Status != 0:
		f.Message = fmt.Sprintf("%s does not answer as an API (%d): %s; check the base URL %s", c.host, f.Status, said, shownURL(c.options.BaseURL))
		if u, err := url.Parse(c.options.BaseURL); f.Status == 404 && err == nil && u.Path == "" {
			f.Message += ": most end in /v1"
		}
	case f.Code == llm.CodeConfig:
		f.Message = fmt.Sprintf("%s; check the base URL %s and the proxy", said, shownURL(c.options.BaseURL))
	case f.Status >= 300:
		f.Message = fmt.Sprintf("%s (%d): %s", c.host, f.Status, said)
	default:
		f.Message = said
	}
	f.RequestID = oneLine(f.RequestID, c.options.Key)
	if ms := f.ProviderRetryAfterMs; ms != nil && *ms >= time.Second.Milliseconds() && !hint.MatchString(f.Message) {
		wait := time.Duration(*ms) * time.Millisecond
		f.Message += fmt.Sprintf("; it asks to wait %s", wait.Round(time.Second))
	}
}

// shownURL is a URL without a password in it.
func shownURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "of the settings"
	}
	return u.Redacted()
}

// host is where a URL points, for error texts.
func host(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		return u.Host
	}
	return oneLine(s, "")
}
