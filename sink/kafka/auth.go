package kafka

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

	"ctbridge/bridge/fault"
)

// login configures SASL.
func (s SASL) login(ctx context.Context, conf *sarama.Config) {
	if s.Mechanism == "none" {
		return
	}
	conf.Net.SASL.Enable = true
	conf.Net.SASL.Mechanism = sarama.SASLMechanism(s.Mechanism)
	conf.Net.SASL.User, conf.Net.SASL.Password = s.Username, s.Password
	hash := scram.HashGeneratorFcn(sha256.New)
	if s.Mechanism == sarama.SASLTypeSCRAMSHA512 {
		hash = sha512.New
	}
	conf.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{hash: hash} }
	if s.HTTP == nil {
		s.HTTP = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	}
	if s.Mechanism == sarama.SASLTypeOAuth {
		conf.Net.SASL.TokenProvider = &tokens{ctx: ctx, sasl: s}
	}
}

// loginRequests is how many requests a connection has sent when the last one held the password's proof or the token: the versions, the
// mechanism, and one step, or two with SCRAM. A broker that refuses it may just close the connection, so that the client sees nothing but EOF.
func (s SASL) loginRequests() int {
	switch s.Mechanism {
	case "none":
		return -1
	case sarama.SASLTypeSCRAMSHA256, sarama.SASLTypeSCRAMSHA512:
		return 4
	}
	return 3
}

// scramClient is one exchange of RFC 5802.
type scramClient struct {
	hash scram.HashGeneratorFcn
	conv *scram.ClientConversation
}

// Begin starts an exchange.
func (c *scramClient) Begin(user, password, authzID string) error {
	client, err := c.hash.NewClient(user, password, authzID)
	if err != nil {
		return err
	}
	c.conv = client.NewConversation()
	return nil
}

// Step answers the server.
func (c *scramClient) Step(challenge string) (string, error) { return c.conv.Step(challenge) }

// Done reports whether the exchange is over.
func (c *scramClient) Done() bool { return c.conv.Done() }

// tokens gives the OAUTHBEARER token, fetching a new one when four fifths of the old one's life are over.
type tokens struct {
	ctx  context.Context // ends with the session
	sasl SASL

	mu    sync.Mutex
	token string
	renew time.Time
}

// Token gives a valid token.
func (t *tokens) Token() (*sarama.AccessToken, error) {
	if t.sasl.Token != "" {
		return &sarama.AccessToken{Token: t.sasl.Token}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == "" || time.Now().After(t.renew) {
		if err := t.fetch(); err != nil {
			return nil, err
		}
	}
	return &sarama.AccessToken{Token: t.token}, nil
}

// tokenTimeout ends a request for a token.
const tokenTimeout = 10 * time.Second

func (t *tokens) fetch() error {
	ctx, cancel := context.WithTimeout(t.ctx, tokenTimeout)
	defer cancel()
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(t.sasl.Scopes) > 0 {
		form.Set("scope", strings.Join(t.sasl.Scopes, " "))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.sasl.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return fault.New(fault.Config, "token URL", err, "")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(t.sasl.ClientID), url.QueryEscape(t.sasl.ClientSecret)) // RFC 6749 section 2.3.1
	resp, err := t.sasl.HTTP.Do(req)
	if err != nil {
		class, hint, _ := fault.Handshake(err, "the token endpoint")
		return fault.New(class, "fetch OAuth token", err, hint)
	}
	defer resp.Body.Close()
	return t.take(resp)
}

// take reads a token answer (RFC 6749 section 5.1). The body of an error answer stays unread: it may repeat what was sent.
func (t *tokens) take(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		class := fault.Retry
		if resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
			class = fault.Fatal
		}
		return fault.New(class, "fetch OAuth token", fmt.Errorf("token endpoint answered %s", resp.Status), "check client id, secret and scopes")
	}
	var answer struct {
		Token     string  `json:"access_token"`
		ExpiresIn float64 `json:"expires_in"` // seconds
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return fault.New(fault.Retry, "fetch OAuth token", fmt.Errorf("unreadable answer of the token endpoint: %w", err), "")
	}
	if answer.Token == "" {
		return fault.New(fault.Fatal, "fetch OAuth token", fmt.Errorf("answer without access_token"), "is the token URL right?")
	}
	t.token = answer.Token
	t.renew = time.Now().Add(time.Duration(answer.ExpiresIn * 0.8 * float64(time.Second)))
	return nil
}
