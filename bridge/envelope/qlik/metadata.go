package qlik

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// identify derives the version's schema id from task, table, version and schema text. The vendor's id is an opaque 128-bit number;
// deriving it keeps it the same over restarts and on every replica, so that consumers see a new one only with a new structure.
func (v *version) identify(dataSchema string) {
	hash := sha256.New()
	id := v.table.ID
	for _, part := range []string{v.opts.Task, id.Schema, id.Name, strconv.Itoa(v.table.Version), dataSchema} {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // lengths keep ("ab","c") and ("a","bc") apart
		hash.Write([]byte(part))
	}
	v.id.Raw = []byte(strings.ToUpper(hex.EncodeToString(hash.Sum(nil)[:16])))
}

// notice is the metadata message of the version (I9): it describes the table and holds the schema text of its data messages. messageSchema
// is the schema text of the metadata message itself, which a consumer of the binary envelope needs to read it.
func (v *version) notice(dataSchema string) (envelope.Notice, error) {
	record := v.metadataRecord(dataSchema)
	own, err := v.opts.SchemaText(record)
	if err != nil {
		return envelope.Notice{}, err
	}
	key := string(v.id.Raw)
	if v.opts.MetadataKey == KeyByTable {
		key = v.table.ID.String()
	}
	return envelope.Notice{Key: []byte(key), Value: v.message("MD", &own, record)}, nil
}

func (v *version) metadataRecord(dataSchema string) *envelope.Node {
	return v.shared("MetadataMessage",
		envelope.Field{Name: "schemaId", Node: text(string(v.id.Raw))},
		envelope.Field{Name: "lineage", Node: v.lineage()},
		envelope.Field{Name: "tableStructure", Node: v.shared("TableStructure",
			envelope.Field{Name: "tableColumns", Node: v.tableColumns()})},
		envelope.Field{Name: "dataSchema", Node: text(dataSchema)})
}

func (v *version) lineage() *envelope.Node {
	now := v.opts.Now()
	moment := change.InstantValue(now.Unix(), int32(now.Nanosecond()), 0)
	timestamp := constant(&moment, envelope.FormISOMillis)
	fields := []envelope.Field{
		{Name: "server", Node: text(v.opts.Server)},
		{Name: "task", Node: text(v.opts.Task)},
	}
	fields = append(fields, v.sourceName()...)
	return v.shared("Lineage", append(fields,
		envelope.Field{Name: "tableVersion", Node: number(int64(v.table.Version), envelope.FormLong)},
		envelope.Field{Name: "timestamp", Node: timestamp})...)
}

// tableColumns has one record per column, named like it; the table's own namespace keeps these names apart from ours.
func (v *version) tableColumns() *envelope.Node {
	fields := make([]envelope.Field, len(v.columns))
	for i := range v.columns {
		c := &v.columns[i]
		nullable := change.BoolValue(c.Nullable)
		fields[i] = c.field(&envelope.Node{
			Shape: envelope.Record, Name: c.avroName, Namespace: v.namespace, Fields: []envelope.Field{
				{Name: "ordinal", Node: number(int64(i+1), envelope.FormInt)},
				{Name: "type", Node: text(c.typ.name)},
				{Name: "length", Node: number(int64(c.typ.length), envelope.FormInt)},
				{Name: "precision", Node: number(int64(c.typ.precision), envelope.FormInt)},
				{Name: "scale", Node: number(int64(c.typ.scale), envelope.FormInt)},
				{Name: "primaryKeyPosition", Node: number(int64(c.KeyPosition), envelope.FormInt)},
				{Name: "nullable", Node: constant(&nullable, envelope.FormBoolean)},
			},
		})
	}
	return v.shared("TableColumns", fields...)
}

// shared is a record of the namespace that all tables share.
func (v *version) shared(name string, fields ...envelope.Field) *envelope.Node {
	return &envelope.Node{Shape: envelope.Record, Name: name, Namespace: v.opts.Names.Namespace, Fields: fields}
}
