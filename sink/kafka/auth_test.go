package kafka_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
	"ctbridge/test/certs"
)

const secret = "correct horse"

func TestLogin(t *testing.T) {
	t.Parallel()
	ca := certs.New(t)
	server := &tls.Config{Certificates: []tls.Certificate{ca.Sign(nil).TLS}}
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		for _, secure := range []bool{false, true} {
			for _, password := range []string{secret, "wrong"} {
				t.Run(fmt.Sprintf("%s tls=%v %s", mechanism, secure, password), func(t *testing.T) {
					t.Parallel()
					opts := []kfake.Opt{kfake.EnableSASL(), kfake.Superuser(mechanism, "bridge", secret)}
					c := kafka.Config{SASL: kafka.SASL{Mechanism: mechanism, Username: "bridge", Password: password}}
					if secure {
						opts = append(opts, kfake.TLS(server))
						c.TLS = &tls.Config{RootCAs: ca.Pool}
					}
					c.Brokers = broker(t, opts...).Brokers()
					if password == secret {
						s := transactional(t, c, "task.0", "checkpoint")
						open(t, s)
						commit(t, s, record("parcel", "k", "1"))
						return
					}
					expectRefused(t, c, "password")
				})
			}
		}
	}
}

// expectRefused expects a Fatal error at once, with a hint and without the password.
func expectRefused(t *testing.T, c kafka.Config, hint string) {
	t.Helper()
	s := transactional(t, c, "task.0", "checkpoint")
	defer s.Close()
	began := time.Now()
	_, err := s.Open(t.Context())
	if err == nil || fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), hint) {
		t.Errorf("want a Fatal error with a hint about %q, got class %v: %v", hint, fault.ClassOf(err), err)
	}
	if err != nil && c.SASL.Password != "" && strings.Contains(err.Error(), c.SASL.Password) {
		t.Errorf("the error tells the password: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	for _, tt := range certs.Cases(t) {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			c := kafka.Config{Brokers: broker(t, kfake.TLS(tt.Server)).Brokers(), TLS: tt.Config()}
			if tt.Hint != "" {
				expectRefused(t, c, tt.Hint)
				return
			}
			s := transactional(t, c, "task.0", "checkpoint")
			open(t, s)
			commit(t, s, record("parcel", "k", "1"))
		})
	}
}

// A broker that does not speak TLS waits for the rest of what it takes for a request.
func TestListenerSpeaksPlainText(t *testing.T) {
	t.Parallel()
	ca := certs.New(t)
	c := kafka.Config{Brokers: broker(t).Brokers(), TLS: &tls.Config{RootCAs: ca.Pool}, DialTimeout: 200 * time.Millisecond}
	s := transactional(t, c, "task.0", "checkpoint")
	defer s.Close()
	if _, err := s.Open(t.Context()); err == nil || !strings.Contains(fault.HintOf(err), "speak TLS") {
		t.Errorf("got %v", err)
	}
}

// A client without TLS or SASL only sees the connection end: the error says what that often means, and passes by itself in case it is not.
func TestListenerAsksForMore(t *testing.T) {
	t.Parallel()
	ca := certs.New(t)
	for name, opts := range map[string][]kfake.Opt{
		"TLS":  {kfake.TLS(&tls.Config{Certificates: []tls.Certificate{ca.Sign(nil).TLS}})},
		"SASL": {kfake.EnableSASL()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := transactional(t, kafka.Config{Brokers: broker(t, opts...).Brokers(), OpenTimeout: 5 * time.Second}, "task.0", "checkpoint")
			defer s.Close()
			_, err := s.Open(t.Context())
			if err == nil || !strings.Contains(fault.HintOf(err), name) {
				t.Errorf("want a hint about %s, got %v", name, err)
			}
		})
	}
}

func TestAuthorizationOfTheTask(t *testing.T) {
	t.Parallel()
	for name, acls := range map[string][]kfake.ACL{
		"no transactional id": allow(kmsg.ACLResourceTypeTopic, "checkpoint", kmsg.ACLOperationAll),
		"no checkpoint topic": allow(kmsg.ACLResourceTypeTransactionalId, "task.0", kmsg.ACLOperationAll),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := broker(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.User("PLAIN", "bridge", secret, acls...))
			if err := servers.Cluster().CreateTopic("checkpoint", 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
				t.Fatal(err)
			}
			c := kafka.Config{Brokers: servers.Brokers(), SASL: kafka.SASL{Mechanism: "PLAIN", Username: "bridge", Password: secret}}
			expectRefused(t, c, "kafka-acls")
		})
	}
}

func allow(resource kmsg.ACLResourceType, name string, operations ...kmsg.ACLOperation) []kfake.ACL {
	var acls []kfake.ACL
	for _, operation := range operations {
		acls = append(acls, kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true})
	}
	return acls
}

// Nothing that the bridge or the client logs tells a password.
func TestLogsTellNoSecret(t *testing.T) {
	var log strings.Builder
	kafka.RouteLogs(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer kafka.RouteLogs(slog.New(slog.DiscardHandler))
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256"} {
		for _, password := range []string{secret, "another secret"} {
			c := kafka.Config{
				Brokers: broker(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "bridge", secret)).Brokers(),
				SASL:    kafka.SASL{Mechanism: mechanism, Username: "bridge", Password: password},
			}
			s := transactional(t, c, "task.0", "checkpoint")
			s.Open(t.Context())
			s.Close()
		}
	}
	if !strings.Contains(log.String(), "kafka client") {
		t.Error("the client logged nothing")
	}
	for _, word := range []string{secret, "another secret"} {
		if strings.Contains(log.String(), word) {
			t.Errorf("the log tells %q", word)
		}
	}
}

// oauthBroker accepts the token it is told: the demo broker has no OAUTHBEARER of its own.
func oauthBroker(t *testing.T, token string) kafka.Config {
	t.Helper()
	servers := broker(t)
	servers.Cluster().ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
		servers.Cluster().KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.SupportedMechanisms = []string{"OAUTHBEARER"}
		return resp, nil, true
	})
	servers.Cluster().ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		servers.Cluster().KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		if !strings.Contains(string(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes), "auth=Bearer "+token+"\x01") {
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		}
		return resp, nil, true
	})
	return kafka.Config{Brokers: servers.Brokers(), SASL: kafka.SASL{Mechanism: "OAUTHBEARER"}}
}

func TestOAuthFixedToken(t *testing.T) {
	t.Parallel()
	c := oauthBroker(t, "good")
	c.SASL.Token = "good"
	open(t, transactional(t, c, "task.0", "checkpoint"))
	c.SASL.Token = "bad"
	expectRefused(t, c, "SASL")
}

func TestOAuthClientCredentials(t *testing.T) {
	t.Parallel()
	asked := 0
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		user, password, _ := r.BasicAuth()
		if r.Method != http.MethodPost || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka write" || user != "bridge%3A1" || password != "s%2Fcret" {
			http.Error(w, `{"error":"invalid_client","secret":"s/cret"}`, http.StatusUnauthorized)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"access_token": "good", "token_type": "bearer", "expires_in": 3600})
	}))
	t.Cleanup(endpoint.Close)
	c := oauthBroker(t, "good")
	c.SASL.TokenURL, c.SASL.ClientID, c.SASL.ClientSecret, c.SASL.Scopes = endpoint.URL, "bridge:1", "s/cret", []string{"kafka", "write"}
	s := transactional(t, c, "task.0", "checkpoint")
	open(t, s)
	commit(t, s, record("parcel", "k", "1"))
	if asked != 1 {
		t.Errorf("one session asked %d times for a token that lasts an hour", asked)
	}
	c.SASL.ClientSecret = "wrong"
	s = transactional(t, c, "task.0", "checkpoint")
	defer s.Close()
	_, err := s.Open(t.Context())
	if err == nil || fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), "secret") || strings.Contains(err.Error(), "s/cret") {
		t.Errorf("got class %v: %v", fault.ClassOf(err), err)
	}
}
