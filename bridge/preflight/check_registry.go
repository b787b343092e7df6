package preflight

import (
	"context"
	"slices"
	"strings"
)

func (d *doctor) reachRegistry(ctx context.Context, n *notes) {
	if d.Registry == nil {
		return
	}
	err := d.pinged(ctx)
	d.reached(err)
	if err != nil {
		n.failed(d.Task.RegistryURL, err)
		return
	}
	n.pass(d.Task.RegistryURL, "answers and takes the credentials")
}

// registryMode looks for a registry that takes no schemas.
func (d *doctor) registryMode(ctx context.Context, n *notes) {
	if d.Registry == nil || d.pinged(ctx) != nil {
		return // reach tells
	}
	limited, cancel := d.limited(ctx)
	defer cancel()
	mode, err := d.Registry.Mode(limited)
	switch {
	case err != nil:
		n.unknown("mode", "the registry does not tell its mode", err)
	case mode == "":
		n.pass("mode", "the registry has no modes")
	case mode == "READWRITE":
		n.pass("mode", "schemas may be registered ("+mode+")")
	case mode == "READONLY_OVERRIDE", mode == "READONLY":
		n.fail("mode", "the registry takes no schemas ("+mode+")", "register the schemas of ctbridge plan elsewhere, or set the mode to READWRITE")
	default:
		n.warn("mode", "the registry is in mode "+mode, "set the mode to READWRITE")
	}
}

// schemas asks what the registry would say to every schema that a start registers.
func (d *doctor) schemas(ctx context.Context, n *notes) {
	if d.Registry == nil || d.pinged(ctx) != nil {
		return // reach tells
	}
	messages, err := d.compiled(ctx)
	if err != nil {
		return // discover tells
	}
	known, fit := 0, 0
	for _, s := range schemasOf(messages, d.bounds) {
		limited, cancel := d.limited(ctx)
		v := d.verdict(limited, s)
		cancel()
		switch {
		case v.err != nil:
			n.failed(s.subject, v.err)
			if ctx.Err() != nil || unreachable(v.err) {
				return // the others would say the same
			}
		case v.State == SchemaKnown:
			known++
		case v.Compatible:
			fit++
		default:
			n.fail(s.subject, "the registry would refuse the schema under "+v.Level+reasons(v.Reasons),
				"see ctbridge plan for the difference; change the table back, set another level for the subject, or another subject (schema_registry.subject_strategy)")
		}
	}
	if known > 0 {
		n.pass(many(known, "schema"), "registered already")
	}
	if fit > 0 {
		n.pass(many(fit, "schema"), "new, and the registry would take them")
	}
}

// schemasOf gives all schemas, each subject once for each text.
func schemasOf(messages []message, more []schema) (all []schema) {
	seen := make(map[schema]bool)
	for _, m := range append(slices.Clone(messages), message{schemas: more}) {
		for _, s := range m.schemas {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}

func reasons(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(strings.Fields(strings.Join(list, "; ")), " ")
}
