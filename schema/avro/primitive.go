package avro

import (
	"fmt"

	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/program"
)

// primitive gives the type of a form without a name, with its logical type where it has one.
func primitive(f *envelope.Form) (string, error) {
	switch f.Kind {
	case envelope.FormBoolean:
		return `"boolean"`, nil
	case envelope.FormInt:
		return `"int"`, nil
	case envelope.FormLong:
		return `"long"`, nil
	case envelope.FormFloat:
		return `"float"`, nil
	case envelope.FormDouble:
		return `"double"`, nil
	case envelope.FormBytes, envelope.FormMaskBytes:
		return `"bytes"`, nil
	case envelope.FormDecimalBytes:
		return decimalType(f)
	case envelope.FormDate:
		return logical("int", "date"), nil
	case envelope.FormTimeMillis:
		return logical("int", "time-millis"), nil
	case envelope.FormTimeMicros:
		return logical("long", "time-micros"), nil
	case envelope.FormTimestampMillis:
		return logical("long", "timestamp-millis"), nil
	case envelope.FormTimestampMicros:
		return logical("long", "timestamp-micros"), nil
	case envelope.FormTimestampNanos:
		return logical("long", "timestamp-nanos"), nil
	case envelope.FormDatePart:
		return logical("int", "date"), nil
	case envelope.FormTimePart:
		return logical("long", "time-micros"), nil
	case envelope.FormOffsetPart:
		return logical("int", "time-millis"), nil
	case envelope.FormNull:
		return `"null"`, nil
	case envelope.FormMap:
		return `{"type":"map","values":"string"}`, nil
	}
	if program.Text(f.Kind) == nil {
		return "", fmt.Errorf("Avro has no form %d", f.Kind)
	}
	return `"string"`, nil
}

func logical(base, name string) string {
	return `{"type":"` + base + `","logicalType":"` + name + `"}`
}

func decimalType(f *envelope.Form) (string, error) {
	if f.Precision < 1 || f.Scale < 0 || f.Scale > f.Precision {
		return "", fmt.Errorf("decimal(%d,%d) does not exist in Avro", f.Precision, f.Scale)
	}
	return fmt.Sprintf(`{"type":"bytes","logicalType":"decimal","precision":%d,"scale":%d}`, f.Precision, f.Scale), nil
}
