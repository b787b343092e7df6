package registry

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/riferrei/srclient"
)

// Registry is what the rest of ctbridge may ask of a schema registry. All schemas are Avro.
type Registry interface {
	// Register gives the id of a schema under a subject, registering it where the registry does not have it.
	Register(ctx context.Context, subject, schema string) (id int, err error)
	// Lookup gives the id of a schema under a subject; found is false where the registry does not have it.
	Lookup(ctx context.Context, subject, schema string) (id int, found bool, err error)
	// Latest gives the newest schema of a subject; found is false for an unknown subject.
	Latest(ctx context.Context, subject string) (s Schema, found bool, err error)
	// Compatible asks whether a schema could be registered after the newest one; anything can under an unknown subject.
	Compatible(ctx context.Context, subject, schema string) (Verdict, error)
	// Compatibility gives the level in force for a subject; own is false where it is the registry's default.
	Compatibility(ctx context.Context, subject string) (level string, own bool, err error)
	// SetCompatibility sets the level of a subject.
	SetCompatibility(ctx context.Context, subject, level string) error
	// ByID gives the text of the schema with an id.
	ByID(ctx context.Context, id int) (schema string, err error)
	// Ping asks whether the registry answers and takes the credentials.
	Ping(ctx context.Context) error
}

// Schema is a registered schema.
type Schema struct {
	ID   int
	Text string
}

// Verdict is the registry's answer about a schema; Reasons may be empty even where it is not compatible.
type Verdict struct {
	Compatible bool
	Reasons    []string
}

// Client is the Registry over HTTP. It is safe for concurrent use.
type Client struct {
	config    Config
	transport *http.Transport
	places    chan struct{} // as many as requests at a time

	mu       sync.Mutex
	ids      map[fingerprint]int
	texts    map[int]string
	subjects map[string]chan struct{} // one registration at a time under each subject
}

// fingerprint is a schema text under a subject; its id never changes.
type fingerprint struct {
	subject string
	schema  [sha256.Size]byte
}

// New checks the configuration; nothing is asked of the registry yet. Errors have class Config.
func New(c Config) (*Client, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Client{
		config: c, transport: transport(c.TLS), places: make(chan struct{}, maxConcurrent),
		ids: map[fingerprint]int{}, texts: map[int]string{}, subjects: map[string]chan struct{}{},
	}, nil
}

// Close gives up idle connections.
func (c *Client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

// Lookup implements Registry.
func (c *Client) Lookup(ctx context.Context, subject, schema string) (id int, found bool, err error) {
	key := fingerprint{subject, sha256.Sum256([]byte(schema))}
	if id, known := c.known(key); known {
		return id, true, nil
	}
	err = c.retry(ctx, func() error { id, err = c.lookup(ctx, subject, schema); return err })
	switch {
	case err == nil:
		c.learn(key, id)
		return id, true, nil
	case codeOf(err) == codeSubjectUnknown, codeOf(err) == codeSchemaUnknown:
		return 0, false, nil
	}
	return 0, false, err
}

// lookup asks the registry itself, once.
func (c *Client) lookup(ctx context.Context, subject, schema string) (id int, err error) {
	err = c.attempt(ctx, "look up the schema of "+subject, func(r library) error {
		s, err := r.LookupSchema(subject, schema, srclient.Avro)
		if err != nil {
			return err
		}
		id = s.ID()
		return positive(id)
	})
	return id, err
}

// positive refuses the answer of something that is no registry.
func positive(id int) error {
	if id <= 0 {
		return fmt.Errorf("schema id %d", id)
	}
	return nil
}

// Latest implements Registry.
func (c *Client) Latest(ctx context.Context, subject string) (s Schema, found bool, err error) {
	err = c.do(ctx, "newest schema of "+subject, func(r library) error {
		latest, err := r.GetLatestSchema(subject)
		if err != nil {
			return err
		}
		s = Schema{ID: latest.ID(), Text: latest.Schema()}
		return positive(s.ID)
	})
	switch {
	case err == nil:
		return s, true, nil
	case codeOf(err) == codeSubjectUnknown, codeOf(err) == codeVersionUnknown:
		return Schema{}, false, nil
	}
	return Schema{}, false, err
}

// Compatible implements Registry. The reasons come with the API's verbose answer, which srclient does not read.
func (c *Client) Compatible(ctx context.Context, subject, schema string) (v Verdict, err error) {
	err = c.do(ctx, "compatibility of the schema of "+subject, func(r library) (err error) {
		v.Compatible, err = r.IsSchemaCompatible(subject, schema, "latest?verbose=true", srclient.Avro)
		var verbose struct {
			Messages []string `json:"messages"`
		}
		if json.Unmarshal(r.way.body, &verbose) == nil && !v.Compatible {
			v.Reasons = verbose.Messages
		}
		return err
	})
	switch codeOf(err) {
	case codeSubjectUnknown, codeVersionUnknown:
		return Verdict{Compatible: true}, nil
	}
	return v, err
}

// ByID implements Registry.
func (c *Client) ByID(ctx context.Context, id int) (schema string, err error) {
	c.mu.Lock()
	schema, known := c.texts[id]
	c.mu.Unlock()
	if known {
		return schema, nil
	}
	err = c.do(ctx, fmt.Sprintf("schema %d", id), func(r library) error {
		s, err := r.GetSchema(id)
		if err != nil {
			return err
		}
		schema = s.Schema()
		return nil
	})
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts[id] = schema
	return schema, nil
}

// Ping implements Registry: it asks for the first schema, which need not be there.
func (c *Client) Ping(ctx context.Context) error {
	err := c.do(ctx, "schema registry", func(r library) error {
		_, err := r.GetSchema(1)
		return err
	})
	if codeOf(err) == codeSchemaUnknown {
		return nil
	}
	return err
}

func (c *Client) known(key fingerprint) (id int, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, known = c.ids[key]
	return id, known
}

func (c *Client) learn(key fingerprint, id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids[key] = id
}
