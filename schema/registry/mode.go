package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Mode tells whether the registry takes schemas: READWRITE, READONLY, READONLY_OVERRIDE or IMPORT; "" for a registry that has no modes. srclient does
// not know the question.
func (c *Client) Mode(ctx context.Context) (mode string, err error) {
	err = c.do(ctx, "mode", func(r library) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.URL+"/mode", http.NoBody)
		if err != nil {
			return err
		}
		response, err := r.way.RoundTrip(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		switch response.StatusCode {
		case http.StatusOK:
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return nil
		default:
			return fmt.Errorf("status %d", response.StatusCode)
		}
		var answer struct {
			Mode string `json:"mode"`
		}
		if json.Unmarshal(r.way.body, &answer) == nil {
			mode = answer.Mode
		}
		return nil
	})
	return mode, err
}
