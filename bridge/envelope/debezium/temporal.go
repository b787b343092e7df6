package debezium

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// The digits after the point that a unit can hold.
const (
	milliDigits = 3
	microDigits = 6
)

// temporal maps dates and times by the mode.
func (o *Options) temporal(t change.Type) columnType {
	switch o.Times {
	case TimeISO:
		return isoType(t.Kind)
	case TimeConnect:
		return connectType(t.Kind)
	case TimeAdaptive, TimeAdaptiveMicros, TimeMicros, TimeNanos:
	}
	switch t.Kind {
	case change.Date:
		return number(envelope.FormDate, "Date")
	case change.Time:
		return o.timeOfDay(o.digits(t))
	}
	switch digits := o.digits(t); {
	case digits <= milliDigits:
		return number(envelope.FormTimestampMillis, "Timestamp")
	case digits <= microDigits:
		return number(envelope.FormTimestampMicros, "MicroTimestamp")
	}
	return number(envelope.FormTimestampNanos, "NanoTimestamp")
}

// digits is how fine the mode counts a column of the type.
func (o *Options) digits(t change.Type) int {
	switch {
	case o.Times == TimeNanos:
		return microDigits + 1
	case o.Times == TimeMicros, o.Times == TimeAdaptiveMicros && t.Kind == change.Time:
		return microDigits
	}
	return t.Scale
}

// timeOfDay counts microseconds with a sign where TIME is a duration as well.
func (o *Options) timeOfDay(digits int) columnType {
	switch {
	case digits <= milliDigits:
		return number(envelope.FormTimeMillis, "Time")
	case digits > microDigits:
		return number(envelope.FormTimeNanos, "NanoTime")
	case o.Engine == MySQL:
		return number(envelope.FormDurationMicros, "MicroTime")
	}
	return number(envelope.FormTimeMicros, "MicroTime")
}

// number is a Debezium type over a whole number, which Avro writes without a logical type.
func number(kind envelope.FormKind, name string) columnType {
	t := named(kind, "io.debezium.time."+name)
	t.avro.Plain = true
	return t
}

func isoType(kind change.Kind) columnType {
	switch kind {
	case change.Date:
		return named(envelope.FormISODate, "io.debezium.time.IsoDate")
	case change.Time:
		return named(envelope.FormISOTime, "io.debezium.time.IsoTime")
	}
	return named(envelope.FormISOInstant, "io.debezium.time.IsoTimestamp")
}

func connectType(kind change.Kind) columnType {
	switch kind {
	case change.Date:
		return named(envelope.FormDate, "org.apache.kafka.connect.data.Date")
	case change.Time:
		return named(envelope.FormTimeMillis, "org.apache.kafka.connect.data.Time")
	}
	return named(envelope.FormTimestampMillis, "org.apache.kafka.connect.data.Timestamp")
}

// zoned is text in every mode. Connectors of PostgreSQL and MySQL show as many digits as the column has, the others as many as the value needs.
func (o *Options) zoned(t change.Type) columnType {
	c := named(envelope.FormISOInstant, "io.debezium.time.ZonedTimestamp")
	if o.Engine == MySQL || o.Engine == Postgres {
		c.avro.Scale, c.json.Scale = t.Scale, t.Scale
	}
	return c
}
