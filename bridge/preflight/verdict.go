package preflight

import (
	"context"
	"strings"

	"ctbridge/bridge/fault"
)

// The states of a schema.
const (
	SchemaKnown      = "registered"
	SchemaNewVersion = "new version"
	SchemaNewSubject = "new subject"
)

// SchemaPlan is what a start would do with one schema.
type SchemaPlan struct {
	Part       string   `json:"part"` // value or key
	Subject    string   `json:"subject"`
	State      string   `json:"state"`        // registered, new version, new subject; "" = the registry cannot be asked
	ID         int      `json:"id,omitempty"` // where it is registered
	Level      string   `json:"level,omitempty"`
	Compatible bool     `json:"compatible"`
	Reasons    []string `json:"reasons,omitempty"`
	Changes    []Change `json:"changes,omitempty"` // against the newest schema of the subject

	err error
}

// verdict asks the registry about one schema; nothing is registered.
func (a *asked) verdict(ctx context.Context, s schema) (p SchemaPlan) {
	p = SchemaPlan{Part: s.part, Subject: s.subject}
	var found bool
	if p.ID, found, p.err = a.Registry.Lookup(ctx, s.subject, s.text); p.err != nil {
		return p
	}
	if found {
		p.State, p.Compatible = SchemaKnown, true
		return p
	}
	_, newest, exists, err := a.Registry.Newest(ctx, s.subject)
	if p.err = err; err != nil {
		return p
	}
	if !exists {
		p.State, p.Compatible, p.Level = SchemaNewSubject, true, a.Task.Compatibility
		return p
	}
	p.State, p.Changes = SchemaNewVersion, avroChanges(newest, s.text)
	if p.Level, _, p.err = a.Registry.Level(ctx, s.subject); p.err != nil {
		return p
	}
	p.Compatible, p.Reasons, p.err = a.Registry.Compatible(ctx, s.subject, s.text)
	for i := range p.Reasons {
		p.Reasons[i] = strings.Join(strings.Fields(p.Reasons[i]), " ")
	}
	return p
}

// unreachable tells an error of the neighbour from one of a single schema.
func unreachable(err error) bool {
	class := fault.ClassOf(err)
	return class == fault.Retry || class == fault.Fatal || class == fault.Config
}
