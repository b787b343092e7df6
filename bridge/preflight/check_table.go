package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/preflight/facts"
)

// fine notes once that a check found nothing wrong with some tables.
func (n *notes) fine(tables int, seen string) {
	if tables > 0 {
		n.pass(many(tables, "table"), seen)
	}
}

// tablesFound tells which entries of source.tables lead to no table that can be streamed.
func (d *doctor) tablesFound(ctx context.Context, n *notes) {
	found, err := d.discovery(ctx)
	if err != nil {
		return // discover tells
	}
	var ids []change.TableID
	for _, t := range found.Tables {
		ids = append(ids, t.Table.ID)
	}
	mender, mends := d.Layout.(mending)
	for _, problem := range found.Problems {
		ids = append(ids, problem.Table)
		f := n.failed(problem.Table.String(), problem.Err)
		if mends && missing(problem.Err) {
			limited, cancel := d.limited(ctx)
			f.SQL = mender.Mend(limited, problem.Table, d.login(ctx))
			cancel()
		}
	}
	if d.Task.Unused != nil {
		for _, entry := range d.Task.Unused(ids) {
			n.warn(entry, "no table comes from this entry of source.tables", "check its spelling, source.qlik.suffix and source.qlik.schema, and that the login may see the tables")
		}
	}
	n.fine(len(found.Tables), "change table and base table are found")
}

// rights reads nothing of every table that a start would read.
func (d *doctor) rights(ctx context.Context, n *notes) {
	found, err := d.discovery(ctx)
	if err != nil {
		return // discover tells
	}
	denied, err := d.deniedChanges(ctx)
	if err != nil {
		n.failed("change tables", err)
		return
	}
	bad := d.denials(ctx, n, denied, Fail, "SELECT is needed")
	n.fine(len(found.Tables)-bad, "change tables may be read")
	if len(found.Tables) == 0 || d.Task.Load == bridge.LoadNone && d.Task.OnReset != bridge.ResetResnapshot {
		return
	}
	var bases []change.TableID
	for _, t := range found.Tables {
		bases = append(bases, t.Table.ID)
	}
	limited, cancel := d.limited(ctx)
	defer cancel()
	denied, err = d.probe(limited, bases)
	if err != nil {
		n.failed("base tables", err)
		return
	}
	bad = d.denials(ctx, n, denied, Fail, "the full load reads the base table")
	n.fine(len(bases)-bad, "base tables may be read")
}

// denials notes what may not be read, with the grants for it.
func (d *doctor) denials(ctx context.Context, n *notes, denied map[change.TableID]error, level Level, why string) int {
	ids := make([]change.TableID, 0, len(denied))
	for id := range denied {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	g, grants := d.Engine.(granting)
	for _, id := range ids {
		seen, do := told(denied[id])
		f := n.add(level, id.String(), why+": "+seen, do)
		if grants {
			f.Do, f.SQL = "have the owner run", g.Grant([]change.TableID{id}, d.login(ctx))
		}
	}
	return len(ids)
}

// readable asks for the newest rows with the query of every poll.
func (d *doctor) readable(ctx context.Context, n *notes) {
	found, err := d.discovery(ctx)
	if err != nil || len(found.Tables) == 0 {
		return // discover tells
	}
	window, err := d.polled(ctx)
	if err != nil {
		n.failed("newest rows", err)
		return
	}
	denied, _ := d.deniedChanges(ctx)
	empty, well := 0, 0
	for i, t := range found.Tables {
		switch {
		case denied[t.Changes] != nil:
		case window.Newest[i].Problem != nil:
			n.failed(t.Table.ID.String(), window.Newest[i].Problem)
		case window.Newest[i].Position == "":
			empty++
		default:
			well++
		}
	}
	n.fine(well, "the newest row can be read")
	n.fine(empty, "the change table is empty")
}

// filters puts each predicate to the test with the newest row of its table.
func (d *doctor) filters(ctx context.Context, n *notes) {
	found, err := d.discovery(ctx)
	if err != nil {
		return // discover tells
	}
	window, err := d.polled(ctx)
	if err != nil {
		return // rows tells
	}
	well := 0
	for i, t := range found.Tables {
		newest := window.Newest[i]
		if t.Filter == "" || newest.Problem != nil || newest.Position == "" {
			continue
		}
		limited, cancel := d.limited(ctx)
		_, err := d.Layout.Count(limited, t, newest.Position.JustBelow(), newest.Position)
		cancel()
		if err != nil {
			n.failed(t.Table.ID.String(), err)
			continue
		}
		well++
	}
	n.fine(well, "the database takes their filters (source.filters)")
}

// columns looks at the header columns.
func (d *doctor) columns(ctx context.Context, n *notes) {
	all, err := d.inspections(ctx)
	if err != nil {
		return // discover and rights tell
	}
	well := 0
	for _, i := range all {
		name := i.table.Changes.String()
		for _, h := range i.facts.Odd {
			n.fail(name, "column "+h.Name+": "+h.Why, "give it the type that the replication task makes, or leave the table out in source.tables")
		}
		if len(i.facts.Missing) > 0 {
			names, why := headers(i.facts.Missing)
			n.warn(name, "no column "+names+": "+why, "switch the header columns on in the task's Store Changes settings, if messages need them")
		}
		if len(i.facts.Captured) > 0 {
			n.warn(i.table.Table.ID.String(), "columns are not captured: "+strings.Join(i.facts.Captured, ", "), "if they are wanted, make a second capture instance; the task changes over by itself").
				SQL = i.facts.Mend
		}
		if len(i.facts.Odd)+len(i.facts.Missing)+len(i.facts.Captured) == 0 {
			well++
		}
	}
	n.fine(well, "header columns are there, with fitting types")
	d.collations(ctx, n, all)
}

// collations looks for change sequences that no query can ask for together: then tables are asked one by one, or not at all.
func (d *doctor) collations(ctx context.Context, n *notes, all []inspection) {
	c, ok := d.Engine.(collating)
	if !ok {
		return
	}
	var ids []change.TableID
	for _, i := range all {
		ids = append(ids, i.table.Changes)
	}
	limited, cancel := d.limited(ctx)
	defer cancel()
	found, err := c.Collations(limited, ids)
	if err != nil {
		return // not every server tells
	}
	by := make(map[string][]string)
	for _, i := range all {
		for _, column := range i.facts.Order {
			if collation := found[i.table.Changes][column.Name]; collation != "" {
				by[collation] = append(by[collation], i.table.Changes.String())
			}
		}
	}
	if len(by) < 2 {
		return
	}
	var parts []string
	for _, collation := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, collation+" in "+some(by[collation]))
	}
	n.warn(many(len(all), "table"), "change sequences have different collations; most pairs cannot stand in one query, which then fails, or asks table by table: "+strings.Join(parts, "; "), "give them one collation, best that of the database")
}

func headers(list []facts.Header) (names, why string) {
	var n, w []string
	for _, h := range list {
		n, w = append(n, h.Name), append(w, h.Why)
	}
	return strings.Join(n, ", "), strings.Join(w, "; ")
}

// beforeImages compares updates with before-images among the newest rows.
func (d *doctor) beforeImages(ctx context.Context, n *notes) {
	all, err := d.inspections(ctx)
	if err != nil {
		return // discover and rights tell
	}
	with, idle := 0, 0
	for _, i := range all {
		name := i.table.Changes.String()
		switch p := i.facts.Befores; {
		case i.err != nil:
			n.unknown(name, "the newest rows cannot be looked at", i.err)
		case p == nil:
		case p.Updates == 0:
			idle++
		case p.Befores == 0:
			n.warn(name, fmt.Sprintf("none of %s has a before-image: the old row of an update is null in messages, and the old key of a key change is lost", many(int(p.Updates), "recent update")),
				"switch on before-images in the replication task (Store Changes Settings, On UPDATE: Store before and after image)")
		case p.Befores*10 < p.Updates*9:
			n.warn(name, fmt.Sprintf("%d of %d recent updates have no before-image", p.Updates-p.Befores, p.Updates), "was the setting changed a while ago? It is so until these rows are gone")
		default:
			with++
		}
	}
	n.fine(with, "recent updates have before-images")
	n.fine(idle, "no recent update tells whether before-images are stored")
}

// keys looks for tables whose records have no key though one is asked for.
func (d *doctor) keys(ctx context.Context, n *notes) {
	messages, err := d.compiled(ctx)
	if err != nil {
		return // discover tells
	}
	keyed := make(map[change.TableID]bool)
	for _, m := range messages {
		byKey := m.output.KeyMode == envelope.KeyPrimaryKey || m.output.KeyMode == envelope.KeyColumns && len(m.keyColumns()) == 0
		without := byKey && len(m.version.Key) == 0
		if without && m.output == &d.Outputs[0] {
			n.warn(m.version.ID.String(), "the catalog tells no key: its records have none, and all go to one partition", "name the key columns in source.keys")
		}
		keyed[m.version.ID] = keyed[m.version.ID] || !without
	}
	well := 0
	for _, has := range keyed {
		if has {
			well++
		}
	}
	n.fine(well, "record keys are known")
}

func (m *message) keyColumns() []string {
	if m.output.KeyColumns == nil {
		return nil
	}
	return m.output.KeyColumns(m.version.ID)
}

// messagesCompile tells which tables cannot be told in messages, or would share their names with others.
func (d *doctor) messagesCompile(ctx context.Context, n *notes) {
	messages, err := d.compiled(ctx)
	if err != nil {
		return // discover tells
	}
	bad, well := make(map[change.TableID]bool), make(map[change.TableID]bool)
	for _, m := range messages {
		well[m.version.ID] = true
		if m.err != nil && !bad[m.version.ID] {
			bad[m.version.ID] = true
			n.failed(m.version.ID.String(), m.err)
		}
	}
	n.fine(len(well)-len(bad), "topics, keys and messages are fine")
}
