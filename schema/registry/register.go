package registry

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/riferrei/srclient"

	"ctbridge/bridge/fault"
)

// Register implements Registry. Callers that register under one subject at the same time wait for each other, so that each schema is sent
// once. After a failed attempt the registry is asked again before anything is sent a second time: the first may have been stored.
func (c *Client) Register(ctx context.Context, subject, schema string) (int, error) {
	key := fingerprint{subject, sha256.Sum256([]byte(schema))}
	if id, known := c.known(key); known {
		return id, nil
	}
	turn := c.turn(subject)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return 0, fmt.Errorf("register the schema of %s: %w", subject, context.Cause(ctx))
	}
	if id, known := c.known(key); known {
		return id, nil
	}
	var id int
	err := c.retry(ctx, func() (err error) {
		id, err = c.register(ctx, subject, schema)
		return err
	})
	if err != nil {
		return 0, err
	}
	c.learn(key, id)
	return id, nil
}

// turn gives the lock of a subject.
func (c *Client) turn(subject string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	turn, known := c.subjects[subject]
	if !known {
		turn = make(chan struct{}, 1)
		c.subjects[subject] = turn
	}
	return turn
}

// register makes one attempt: look up, and send what is not there.
func (c *Client) register(ctx context.Context, subject, schema string) (int, error) {
	id, err := c.lookup(ctx, subject, schema)
	switch codeOf(err) {
	case codeSubjectUnknown:
		if err := c.prepare(ctx, subject); err != nil {
			return 0, err
		}
	case codeSchemaUnknown:
	default:
		return id, err
	}
	id, err = c.create(ctx, subject, schema)
	if codeOf(err) == codeSchemaUnknown { // srclient asks for what it has just sent, maybe a node that has not heard of it yet
		f := &failure{reason: "the registry took the schema and does not have it yet", passing: true, cause: err}
		return 0, fault.New(fault.Retry, "register the schema of "+subject, f, "")
	}
	return id, err
}

// create sends a schema. The version in the answer is not to be relied on: some registries leave it out.
func (c *Client) create(ctx context.Context, subject, schema string) (id int, err error) {
	err = c.attempt(ctx, "register the schema of "+subject, func(r library) error {
		s, err := r.CreateSchema(subject, schema, srclient.Avro)
		if err != nil {
			return err
		}
		id = s.ID()
		return positive(id)
	})
	if err == nil {
		c.config.Log.Info("schema registered", "subject", subject, "id", id)
		c.config.Registered()
	}
	return id, err
}

// prepare sets the compatibility level of a subject that is about to be made, before its first schema: should the process end in between,
// the subject is still unknown and the next start does both. A level that somebody has set for it beforehand stays.
func (c *Client) prepare(ctx context.Context, subject string) error {
	if c.config.Compatibility == "" {
		return nil
	}
	_, own, err := c.ownLevel(ctx, subject)
	if err != nil || own {
		return err
	}
	return c.setLevel(ctx, subject, c.config.Compatibility)
}

// Compatibility implements Registry.
func (c *Client) Compatibility(ctx context.Context, subject string) (level string, own bool, err error) {
	err = c.retry(ctx, func() error { level, own, err = c.ownLevel(ctx, subject); return err })
	if err != nil || own {
		return level, own, err
	}
	err = c.do(ctx, "default compatibility", func(r library) error {
		l, err := r.GetGlobalCompatibilityLevel()
		if err == nil {
			level = l.String()
		}
		return err
	})
	return level, false, err
}

// ownLevel asks for the level that was set for the subject itself.
func (c *Client) ownLevel(ctx context.Context, subject string) (level string, own bool, err error) {
	err = c.attempt(ctx, "compatibility of "+subject, func(r library) error {
		l, err := r.GetCompatibilityLevel(subject, false)
		if err == nil {
			level = l.String()
		}
		return err
	})
	switch codeOf(err) {
	case codeSubjectUnknown, codeLevelUnknown:
		return "", false, nil
	}
	return level, level != "", err
}

// SetCompatibility implements Registry. An unknown level is an error of class Config.
func (c *Client) SetCompatibility(ctx context.Context, subject, name string) error {
	name, err := level(name)
	if err != nil {
		return err
	}
	return c.retry(ctx, func() error { return c.setLevel(ctx, subject, name) })
}

func (c *Client) setLevel(ctx context.Context, subject, name string) error {
	err := c.attempt(ctx, "set the compatibility of "+subject, func(r library) error {
		_, err := r.ChangeSubjectCompatibilityLevel(subject, srclient.CompatibilityLevel(name))
		return err
	})
	if err == nil {
		c.config.Log.Info("compatibility of a new subject set", "subject", subject, "level", name)
	}
	return err
}
