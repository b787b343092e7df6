package sqlservercdc

import (
	"cmp"
	"strings"
	"time"

	"ctbridge/bridge/change"
)

// UnsupportedPolicy says what to do with a column whose type no message can hold: sql_variant, geometry, geography and other CLR types.
type UnsupportedPolicy string

// The policies for unsupported types.
const (
	UnsupportedFail   UnsupportedPolicy = "fail"   // stop the table (default)
	UnsupportedString UnsupportedPolicy = "string" // the server's own text of the value, where it has one; else as fail
	UnsupportedSkip   UnsupportedPolicy = "skip"   // leave the column out; logged
)

// Tables chooses the base tables.
type Tables interface {
	Match(id change.TableID) bool
	// Exact lists the tables named without a pattern: one that is not found is a problem.
	Exact() []change.TableID
}

// Observer hears what only this layout knows. Its methods return at once and may be called from any goroutine.
type Observer interface {
	// CaptureAge: for how long the newest LSN has not moved. The capture job moves it every five minutes even when nothing happens.
	CaptureAge(age time.Duration)
	// RetentionMargin: how much time lies between where the table stands and the oldest rows that the clean-up has kept.
	RetentionMargin(table change.TableID, left time.Duration)
	// NotCaptured: so many columns of the table are not in its newest capture instance.
	NotCaptured(table change.TableID, columns int)
	// LeftOut: so many captured columns of the table are left out by the policy for types that no message can hold.
	LeftOut(table change.TableID, columns int)
	// NullInNotNull: so many values of NOT NULL columns came as NULL and count as not captured.
	NullInNotNull(table change.TableID, n int)
}

// Options of the layout. The zero value of a field means its default.
type Options struct {
	Tables      Tables
	Keys        map[change.TableID][]string  // key columns where the catalog tells none
	Schema      string                       // of the change tables, default "cdc"
	Zone        *time.Location               // of the server's clock, default UTC
	Unsupported UnsupportedPolicy            // of types and columns that have none of their own
	ByType      map[string]UnsupportedPolicy // by the type's name, in lower case
	ByColumn    func(table change.TableID, column string) (UnsupportedPolicy, bool)
	// Filter gives the SQL predicate that the rows of a table's change table must meet to be events, empty for all; nil = all rows of all tables.
	Filter         func(base change.TableID) string
	CaptureTimeout time.Duration // how long the newest LSN may stand still, default 15 min
	PageBytes      int           // see source.Captured
	Observer       Observer      // nil = nobody listens
	Now            func() time.Time
}

const defaultCaptureTimeout = 15 * time.Minute

func (o Options) withDefaults() Options {
	o.Schema = cmp.Or(o.Schema, "cdc")
	o.Zone = cmp.Or(o.Zone, time.UTC)
	o.Unsupported = cmp.Or(o.Unsupported, UnsupportedFail)
	o.CaptureTimeout = cmp.Or(o.CaptureTimeout, defaultCaptureTimeout)
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// unsupported is the policy of a column: its own, else that of its type, else that of all.
func (o *Options) unsupported(table change.TableID, c *change.Column) UnsupportedPolicy {
	if o.ByColumn != nil {
		if policy, own := o.ByColumn(table, c.Name); own {
			return policy
		}
	}
	if policy, own := o.ByType[strings.ToLower(c.Native)]; own {
		return policy
	}
	return o.Unsupported
}

// nobody listens.
type nobody struct{}

func (nobody) CaptureAge(time.Duration)                      {}
func (nobody) RetentionMargin(change.TableID, time.Duration) {}
func (nobody) NotCaptured(change.TableID, int)               {}
func (nobody) LeftOut(change.TableID, int)                   {}
func (nobody) NullInNotNull(change.TableID, int)             {}
