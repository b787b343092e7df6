package wiring

import (
	"ctbridge/bridge/config"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/envelope/datastream"
	"ctbridge/bridge/envelope/debezium"
	"ctbridge/bridge/envelope/qlik"
	"ctbridge/schema/avro"
)

func newQlik(t *config.Task, o *config.Output, columns []string) (envelope.Envelope, error) {
	q, n := &t.Qlik, &t.Qlik.Names
	registered := t.UsesRegistry(o)
	format := qlik.JSON
	switch {
	case registered:
		format = qlik.AvroRegistry
	case o.Format == config.FormatAvro:
		format = qlik.Avro
	}
	return qlik.New(qlik.Options{
		Task: t.Name, Server: t.Server, Format: format, Envelope: q.Envelope && !registered, LogicalTypes: q.LogicalTypes, BeforeImage: q.BeforeImage,
		DeleteRowIn: qlik.Place(q.DeleteRowIn), KeyChange: qlik.KeyChange(q.KeyChange), IncludeSourceName: qlik.SourceName(q.IncludeSourceName),
		ExternalSchemaID: q.ExternalSchemaID, Metadata: o.HasMetadataTopic(), MetadataKey: qlik.MetadataKey(q.MetadataKey), KeyColumns: columns,
		Names: qlik.Names{
			Data: n.Data, BeforeData: n.BeforeData, Headers: n.Headers, DataRecord: n.DataRecord, Row: n.Row, KeyRecord: n.KeyRecord,
			HeadersRecord: n.HeadersRecord, Namespace: n.Namespace, TableNamespace: n.TableNamespace,
		},
		SchemaText: avro.SchemaText,
	})
}

func newDatastream(t *config.Task, _ *config.Output, columns []string) (envelope.Envelope, error) {
	d := &t.Datastream
	return datastream.New(datastream.Options{
		Stream: d.Stream, Engine: datastream.Engine(t.Source.Engine), Layout: datastream.Layout(t.Source.Layout), Database: t.Source.Database,
		ReadMethod: datastream.ReadMethod(d.ReadMethod), CDC: d.CDCMethod, Backfill: d.LoadMethod, UpdateType: datastream.UpdateType(d.UpdateType),
		KeyColumns: columns, PositionFrom: datastream.PositionFrom(d.PositionFrom), OmitTransactionID: !d.TransactionID,
		PlainOffset: d.PlainOffset, FineTimes: datastream.FineTimes(d.FineTimes), Absent: datastream.Absent(d.Absent),
	})
}

func newDebezium(t *config.Task, o *config.Output, columns []string) (envelope.Envelope, error) {
	d := &t.Debezium
	format := debezium.JSON
	switch {
	case o.Format == config.FormatAvro:
		format = debezium.Avro
	case d.Schemas:
		format = debezium.JSONSchema
	}
	return debezium.New(debezium.Options{
		Engine: debezium.Engine(t.Source.Engine), LSN: t.Source.Layout == config.LayoutSQLServerCDC, Prefix: d.Prefix, Database: t.Source.Database, Version: d.Version,
		Format: format, Decimals: debezium.Decimals(unlessAuto(d.Decimals)), Times: debezium.Times(unlessAuto(d.Times)), Binary: debezium.Binary(d.Binary),
		Unsigned: debezium.Unsigned(d.Unsigned), Required: debezium.Required(d.Required), Unavailable: d.Unavailable, NoTransaction: !d.Transaction, KeyColumns: columns,
	})
}

// unlessAuto lets the envelope choose.
func unlessAuto(text string) string {
	if text == "auto" {
		return ""
	}
	return text
}
