package llm

// Code classifies a failed request. The classes decide retries and exit codes.
type Code string

const (
	CodeAborted         Code = "ABORTED"
	CodeAuth            Code = "AUTH"
	CodeQuota           Code = "QUOTA"
	CodeContextOverflow Code = "CONTEXT_WINDOW_EXCEEDED"
	CodeContentFilter   Code = "CONTENT_FILTER"
	CodeInvalidRequest  Code = "INVALID_REQUEST"
	CodeRateLimit       Code = "RATE_LIMIT"
	CodeServer          Code = "SERVER"
	CodeTimeout         Code = "TIMEOUT"
	CodeTransport       Code = "TRANSPORT"
	CodeStreamClosed    Code = "STREAM_CLOSED"
	CodeMalformed       Code = "MALFORMED_RESPONSE"
	CodeEmptyResponse   Code = "EMPTY_RESPONSE"
	CodeToolFormat      Code = "MODEL_TOOL_FORMAT"
	CodeConfig          Code = "CONFIG" // wrong base URL, unknown model, HTML answer
	CodeUnknown         Code = "UNKNOWN"
)

// Failure is what went wrong with a request, as it is logged.
type Failure struct {
	Message              string `json:"message"` // one line, safe to show, without keys
	Code                 Code   `json:"code"`
	Status               int    `json:"status,omitempty"` // HTTP, 0 if there was none
	ProviderRetryAfterMs *int64 `json:"providerRetryAfterMs,omitempty"`
	RequestID            string `json:"requestId,omitempty"`

	// Wordless says that the answer was a status and nothing else.
	Wordless bool `json:"wordless,omitempty"`

	// Final marks a failure that the provider or the transport says not to retry,
	// though its code usually is (x-should-retry: false, a bad certificate).
	Final bool `json:"final,omitempty"`
}

// Error makes a failure an error whose text is the message.
func (f *Failure) Error() string { return string(f.Code) + ": " + f.Message }

// Transient reports whether sending the same request again may help.
func (f *Failure) Transient() bool {
	if f.Final {
		return false
	}
	switch f.Code {
	case CodeRateLimit, CodeServer, CodeTimeout, CodeTransport, CodeStreamClosed,
		CodeMalformed, CodeEmptyResponse, CodeToolFormat:
		return true
	}
	return false
}
