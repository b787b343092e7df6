package config

// DatastreamShape is what can be chosen about Datastream events.
type DatastreamShape struct {
	Stream        string `yaml:"stream" default:"{task}" doc:"stream_name, over {task}."`
	ReadMethod    string `yaml:"read_method" default:"source" oneof:"source|plain" doc:"read_method: with the source in front, as sqlserver-cdc and sqlserver-backfill, or plain, as cdc and backfill."`
	CDCMethod     string `yaml:"cdc_method" example:"postgres-cdc-wal" doc:"read_method of changes, instead."`
	LoadMethod    string `yaml:"load_method" example:"postgres-backfill-fulldump" doc:"read_method of full loads, instead."`
	UpdateType    string `yaml:"update_type" default:"UPDATE" oneof:"UPDATE|UPDATE-INSERT" doc:"change_type of an UPDATE. One that changes the key is always an UPDATE-DELETE and an UPDATE-INSERT."`
	PositionFrom  string `yaml:"position_from" default:"stream" oneof:"stream|sequence" doc:"What the position in source_metadata holds: the source's own position where the change table has it, or the change sequence, which is another one for every change."`
	TransactionID bool   `yaml:"transaction_id" default:"true" doc:"Write tx_id. PostgreSQL's is a number: a change table whose transaction ids are none needs false."`
	FineTimes     string `yaml:"fine_times" default:"refuse" oneof:"refuse|text" doc:"Avro: times with a seventh fractional digit stop their table, or their columns are texts."`
	PlainOffset   bool   `yaml:"plain_offset" default:"false" doc:"Avro: the offset of a time zone is a bare int, for libraries that take its logical type time-millis for a time of day."`
	Absent        string `yaml:"absent" default:"refuse" oneof:"refuse|null" doc:"A new row in which columns were not captured stops its table, or has null there, which readers take for the value."`
}

func (r *rules) checkDatastream() {
	d := &r.Datastream
	if len(r.outputsOf(EnvelopeDatastream)) == 0 {
		return
	}
	r.checkPlaceholders("datastream.stream", d.Stream, "{task}")
	if d.Stream == "" {
		r.wrong("datastream.stream", "remove it for the name of the task", "is empty")
	}
	if d.CDCMethod != "" && d.CDCMethod == d.LoadMethod {
		r.wrong("datastream.load_method", "write another", "is datastream.cdc_method, too: readers could not tell changes from full loads")
	}
}
