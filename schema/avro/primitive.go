package avro

import (
	"fmt"

	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/program"
)

// primitives are the Avro types of the forms without a name, with their logical types.
var primitives = map[envelope.FormKind]struct{ base, logical string }{
	envelope.FormBoolean:         {"boolean", ""},
	envelope.FormInt:             {"int", ""},
	envelope.FormLong:            {"long", ""},
	envelope.FormFloat:           {"float", ""},
	envelope.FormDouble:          {"double", ""},
	envelope.FormDecimalDouble:   {"double", ""},
	envelope.FormBytes:           {"bytes", ""},
	envelope.FormMaskBytes:       {"bytes", ""},
	envelope.FormUnscaledPart:    {"bytes", ""},
	envelope.FormScalePart:       {"int", ""},
	envelope.FormMonthsPart:      {"int", ""},
	envelope.FormHoursPart:       {"int", ""},
	envelope.FormMicrosPart:      {"long", ""},
	envelope.FormBits:            {"long", ""},
	envelope.FormDate:            {"int", "date"},
	envelope.FormDatePart:        {"int", "date"},
	envelope.FormTimeMillis:      {"int", "time-millis"},
	envelope.FormOffsetPart:      {"int", "time-millis"},
	envelope.FormTimeMicros:      {"long", "time-micros"},
	envelope.FormTimePart:        {"long", "time-micros"},
	envelope.FormTimeNanos:       {"long", ""},
	envelope.FormDurationMicros:  {"long", ""},
	envelope.FormTimestampMillis: {"long", "timestamp-millis"},
	envelope.FormTimestampMicros: {"long", "timestamp-micros"},
	envelope.FormTimestampNanos:  {"long", "timestamp-nanos"},
	envelope.FormMidnightMicros:  {"long", "timestamp-micros"},
	envelope.FormNull:            {"null", ""},
}

// primitive gives the type of a form without a name.
func primitive(f *envelope.Form) (string, error) {
	if p, known := primitives[f.Kind]; known {
		if f.Plain || p.logical == "" {
			return `"` + p.base + `"`, nil
		}
		return `{"type":"` + p.base + `","logicalType":"` + p.logical + `"}`, nil
	}
	switch {
	case f.Kind == envelope.FormDecimalBytes:
		return decimalType(f)
	case f.Kind == envelope.FormMap:
		return `{"type":"map","values":"string"}`, nil
	case program.Text(f.Kind) == nil:
		return "", fmt.Errorf("Avro has no form %d", f.Kind)
	}
	return `"string"`, nil
}

func decimalType(f *envelope.Form) (string, error) {
	if f.Precision < 1 || f.Scale < 0 || f.Scale > f.Precision {
		return "", fmt.Errorf("decimal(%d,%d) does not exist in Avro", f.Precision, f.Scale)
	}
	return fmt.Sprintf(`{"type":"bytes","logicalType":"decimal","precision":%d,"scale":%d}`, f.Precision, f.Scale), nil
}
