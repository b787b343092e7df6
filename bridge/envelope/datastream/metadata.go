package datastream

import (
	"strconv"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// sourceMetadata gives the members that the engine's events have, in the documented order. SQLite is no source of the original: its record is
// PostgreSQL's with MySQL's database, and a text for the transaction.
func (v *version) sourceMetadata() []envelope.Field {
	id := v.table.ID
	table, schema := field("table", constant(id.Name)), field("schema", constant(id.Schema))
	deleted, kind := field("is_deleted", nullable(leaf(deleted, envelope.FormBoolean))), field("change_type", nullable(text(v.changeType())))
	lsn, tx := field("lsn", nullable(text(v.position()))), field("tx_id", nullable(text(v.transaction())))
	if v.opts.PositionFrom == FromSequence {
		lsn.Node.Role = envelope.RoleSequence
	}
	switch v.opts.Engine {
	case MySQL:
		return []envelope.Field{
			table, field("database", constant(id.Schema)), field("primary_keys", v.keyNames(textItem)),
			field("log_file", nullable(text(v.logFile()))), field("log_position", nullable(leaf(v.logPosition(), envelope.FormLong))), kind, deleted,
		}
	case Postgres:
		tx.Node.Get, tx.Node.Avro.Kind = v.transactionNumber(), envelope.FormLong
		return []envelope.Field{schema, table, deleted, kind, tx, lsn, field("primary_keys", nullable(v.keyNames(textItem)))}
	case SQLite:
		return []envelope.Field{
			table, field("database", constant(v.opts.Database)), deleted, kind, tx, lsn, field("primary_keys", v.keyNames(textItem)),
		}
	case SQLServer:
	}
	database := constant(v.opts.Database)
	if v.opts.Database == "" {
		database.Constant = &change.Value{}
	}
	for _, named := range []*envelope.Node{table.Node, database, schema.Node} {
		named.Nullable = true
	}
	physical := &envelope.Node{Shape: envelope.Array, Item: nullable(leaf(nil, envelope.FormInt))}
	return []envelope.Field{
		table, kind, field("database", database), schema, lsn, tx, deleted,
		field("physical_location", physical), field("replication_index", v.keyNames(textOrNull)),
	}
}

// keyNames lists the names of the key columns; it is empty for a table without key.
func (v *version) keyNames(item func(name string) *envelope.Node) *envelope.Node {
	n := &envelope.Node{Shape: envelope.Array, Item: item("")}
	for _, i := range v.key {
		n.Items = append(n.Items, item(v.columns[i].Name))
	}
	return n
}

func textItem(name string) *envelope.Node { return constant(name) }

func textOrNull(name string) *envelope.Node {
	return &envelope.Node{Shape: envelope.Union, Branches: []*envelope.Node{constant(name), leaf(nil, envelope.FormNull)}}
}

func deleted(ev *change.Event, _ *envelope.Scratch) change.Value {
	return change.BoolValue(ev.Op == change.OpDelete)
}

// changeType names the change; a row of a full load is an INSERT, never a READ.
func (v *version) changeType() envelope.Getter {
	name := func(s string) change.Value { return change.TextValue([]byte(s)) }
	insert, update, remove := name("INSERT"), name(string(v.opts.UpdateType)), name("DELETE")
	oldKey, newKey := name("UPDATE-DELETE"), name("UPDATE-INSERT")
	return func(ev *change.Event, _ *envelope.Scratch) change.Value {
		switch {
		case ev.Half == change.OldKey:
			return oldKey
		case ev.Half == change.NewKey:
			return newKey
		case ev.Op == change.OpInsert || ev.Op == change.OpRefresh:
			return insert
		case ev.Op == change.OpUpdate:
			return update
		case ev.Op == change.OpDelete:
			return remove
		}
		return change.Null
	}
}

func (v *version) readMethod() envelope.Getter {
	cdc, backfill := change.TextValue([]byte(v.opts.CDC)), change.TextValue([]byte(v.opts.Backfill))
	return func(ev *change.Event, _ *envelope.Scratch) change.Value {
		if ev.Op == change.OpRefresh {
			return backfill
		}
		return cdc
	}
}

func (v *version) transaction() envelope.Getter {
	if v.opts.OmitTransactionID {
		return nothing
	}
	return func(ev *change.Event, _ *envelope.Scratch) change.Value {
		if len(ev.TransactionID) == 0 || ev.Op == change.OpRefresh {
			return change.Null
		}
		return change.TextValue(ev.TransactionID)
	}
}

func nothing(*change.Event, *envelope.Scratch) change.Value { return change.Null }

// transactionNumber reads the id, hex digits, as the number that PostgreSQL's field holds. Another id is handed on as it is: JSON, where the field
// is text, takes it, Avro refuses it (I6).
func (v *version) transactionNumber() envelope.Getter {
	get := v.transaction()
	return func(ev *change.Event, scratch *envelope.Scratch) change.Value {
		id := get(ev, scratch)
		if n, ok := hexNumber(id.Raw); ok {
			return change.IntValue(n)
		}
		return id
	}
}

// hexNumber reads hex digits as a number of 63 bits.
func hexNumber(digits []byte) (n int64, ok bool) {
	for _, c := range digits {
		digit := int64(c - '0')
		switch {
		case '0' <= c && c <= '9':
		case 'a' <= c && c <= 'f':
			digit = int64(c-'a') + 10
		case 'A' <= c && c <= 'F':
			digit = int64(c-'A') + 10
		default:
			return 0, false
		}
		if n >= 1<<59 {
			return 0, false
		}
		n = n<<4 | digit
	}
	return n, len(digits) > 0
}

// decimalNumber reads decimal digits as an unsigned number; the encoder refuses what the field cannot hold.
func decimalNumber(digits []byte) change.Value {
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return change.TextValue(digits)
	}
	return change.UintValue(n)
}
