package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"dsh/internal/llm"
)

// maxModels bounds the answer of /models: the largest gateway lists some hundred
// models with long descriptions.
const maxModels = 16 << 20

// Models asks the endpoint for the names of its models, sorted. An error is a
// *llm.Failure.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	names, err := c.models(ctx)
	if err != nil {
		return nil, c.ended(ctx, &llm.Request{}, err).Failure
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (c *Client) models(ctx context.Context) ([]string, error) {
	disp := &dispatch{}
	req, err := http.NewRequestWithContext(withDispatch(ctx, disp), http.MethodGet, c.options.BaseURL+"/models", nil)
	if err != nil {
		return nil, err
	}
	if c.options.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.options.Key)
	}
	resp, err := c.doer.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	// The raw bytes: this answer is no stream.
	raw, err := io.ReadAll(io.LimitReader(disp.body.ReadCloser, maxModels))
	if err != nil {
		return nil, disp.body.watch.cause(err)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, &llm.Failure{Code: llm.CodeConfig, Message: fmt.Sprintf("the list of models cannot be read (%v)", err)}
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}
