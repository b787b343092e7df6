package treetest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Each of the leaves draws a value for one pair of forms, sets the forms, and computes with the standard library alone what they must
// become.
var leaves = []func(*rapid.T, *envelope.Node) (change.Value, Want){
	drawBool, drawInt, drawLong, drawUnsigned, drawFloat, drawDouble, drawText, drawVerbatim, drawBytes, drawHex, drawMask, drawMap,
	drawDecimal, drawNumber, drawDate, drawDateNumber, drawTime, drawTimeNumber, drawDateTime, drawTimestamp, drawISOMillis, drawInstant,
	drawEnum, drawFixed, drawTextOfAny, drawISO, drawPlain, drawDuration, drawNearest, drawBase64Decimal, drawSpan,
}

func set(n *envelope.Node, avro, json envelope.FormKind) { n.Avro.Kind, n.JSON.Kind = avro, json }

func drawBool(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormBoolean, envelope.FormBoolean)
	b := rapid.Bool().Draw(t, "bool")
	return change.BoolValue(b), Want{b, jsonText(b)}
}

func drawInt(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormInt, envelope.FormInt)
	i := rapid.Int32().Draw(t, "int")
	return change.IntValue(int64(i)), Want{i, jsonText(i)}
}

func drawLong(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormLong, envelope.FormLong)
	i := rapid.Int64().Draw(t, "long")
	return change.IntValue(i), Want{i, jsonText(i)}
}

func drawUnsigned(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDecimalBytes, envelope.FormDecimalText)
	n.Avro.Precision, n.JSON.Precision = 20, 20
	u := rapid.Uint64().Draw(t, "unsigned")
	return change.UintValue(u), Want{new(big.Rat).SetInt(new(big.Int).SetUint64(u)), jsonText(strconv.FormatUint(u, 10))}
}

func drawFloat(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormFloat, envelope.FormFloat)
	f := rapid.Float32().Draw(t, "float")
	return change.Float32Value(f), Want{f, jsonText(f)}
}

func drawDouble(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDouble, envelope.FormDouble)
	f := rapid.Float64().Draw(t, "double")
	return change.Float64Value(f), Want{f, jsonText(f)}
}

// texts includes long ones (lengths of several bytes) and every character that JSON escapes.
var texts = rapid.OneOf(rapid.String(), rapid.StringN(0, 300, -1), rapid.StringOf(rapid.SampledFrom([]rune("a\"\\/\b\f\n\r\t\x00\x1f\x7f<>&\u2028\u2029é😀"))))

func drawText(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormText, envelope.FormText)
	s := texts.Draw(t, "text")
	return change.TextValue([]byte(s)), Want{s, jsonText(s)}
}

func drawVerbatim(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormText, envelope.FormVerbatim)
	s := jsonText(map[string]any{"x": rapid.Int().Draw(t, "x"), "y": []any{texts.Draw(t, "y"), nil, 1.5}})
	return change.TextValue([]byte(s)), Want{s, s}
}

func drawTextOfAny(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormText, envelope.FormText)
	value, text := change.Value{}, ""
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		i := rapid.Int64().Draw(t, "int")
		value, text = change.IntValue(i), strconv.FormatInt(i, 10)
	case 1:
		u := rapid.Uint64().Draw(t, "unsigned")
		value, text = change.UintValue(u), strconv.FormatUint(u, 10)
	case 2:
		b := rapid.Bool().Draw(t, "bool")
		value, text = change.BoolValue(b), strconv.FormatBool(b)
	case 3:
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		value, text = change.BytesValue(b), strings.ToUpper(hex.EncodeToString(b))
	case 4:
		at := drawMoment(t, time.Microsecond)
		n.Avro.Scale, n.JSON.Scale = 6, 6
		value, text = change.DateTimeValue(at.Unix(), int32(at.Nanosecond())), at.Format("2006-01-02 15:04:05.000000")
	}
	return value, Want{text, jsonText(text)}
}

func drawBytes(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormBytes, envelope.FormBase64)
	b := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes")
	return change.BytesValue(b), Want{b, jsonText(base64.StdEncoding.EncodeToString(b))}
}

func drawHex(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormHexLower, envelope.FormHexUpper)
	b := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes")
	lower := hex.EncodeToString(b)
	return change.BytesValue(b), Want{lower, jsonText(strings.ToUpper(lower))}
}

func drawMask(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormMaskBytes, envelope.FormMaskHex)
	mask := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "mask")
	n.Avro.Scale = len(mask) + rapid.IntRange(0, 3).Draw(t, "wider")
	n.JSON.Scale = n.Avro.Scale
	want := append(slices.Clone(mask), make([]byte, n.Avro.Scale-len(mask))...)
	slices.Reverse(want)
	return change.BytesValue(mask), Want{want, jsonText(strings.ToUpper(hex.EncodeToString(want)))}
}

func drawMap(_ *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormMap, envelope.FormMap)
	return change.Null, Want{nil, "null"}
}

// DrawDecimal draws decimal text that decimal(precision, scale) can hold, with fewer or more zeros than its scale, and its value.
func DrawDecimal(t *rapid.T) (text string, value *big.Rat, precision, scale int) {
	precision = rapid.IntRange(1, 60).Draw(t, "precision")
	scale = rapid.IntRange(0, precision).Draw(t, "scale")
	digits := rapid.StringMatching(`[0-9]{1,60}`).Draw(t, "digits")
	unscaled, _ := new(big.Int).SetString(digits[:min(len(digits), precision)], 10)
	if rapid.Bool().Draw(t, "edge") { // at a power of two the length in bytes changes
		unscaled.Lsh(big.NewInt(1), uint(rapid.IntRange(0, 3*precision).Draw(t, "power")))
		unscaled.Sub(unscaled, big.NewInt(rapid.Int64Range(0, 1).Draw(t, "less")))
	}
	if rapid.Bool().Draw(t, "negative") {
		unscaled.Neg(unscaled)
	}
	value = new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	text = value.FloatString(scale)
	switch {
	case strings.Contains(text, ".") && rapid.Bool().Draw(t, "short"):
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	case rapid.Bool().Draw(t, "long"):
		text = value.FloatString(scale + 3)
	}
	return text, value, precision, scale
}

func drawDecimal(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDecimalBytes, envelope.FormDecimalText)
	text, value, precision, scale := DrawDecimal(t)
	n.Avro.Precision, n.Avro.Scale = precision, scale
	n.JSON.Precision, n.JSON.Scale = precision, scale
	return change.DecimalValue([]byte(text)), Want{value, jsonText(value.FloatString(scale))}
}

func drawNumber(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDecimalText, envelope.FormNumber)
	_, value, precision, scale := DrawDecimal(t)
	n.Avro.Precision, n.Avro.Scale = precision, scale
	text := value.FloatString(scale)
	padded := strings.Replace("00"+text, "00-", "-00", 1)
	return change.DecimalValue([]byte(padded)), Want{text, jsonText(json.Number(text))}
}

const firstSecond, lastSecond = -62135596800, 253402300799 // years 1 to 9999

func drawMoment(t *rapid.T, unit time.Duration) time.Time {
	nanos := rapid.Int64Range(0, int64(time.Second/unit)-1).Draw(t, "fraction") * int64(unit)
	return time.Unix(rapid.Int64Range(firstSecond, lastSecond).Draw(t, "seconds"), nanos).UTC()
}

func drawDate(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDate, envelope.FormDateText)
	day := drawMoment(t, time.Second).Truncate(24 * time.Hour)
	return change.DateValue(day.Unix() / 86400), Want{day, jsonText(day.Format(time.DateOnly))}
}

func drawDateNumber(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDateText, envelope.FormDate)
	day := drawMoment(t, time.Second).Truncate(24 * time.Hour)
	return change.DateValue(day.Unix() / 86400), Want{day.Format(time.DateOnly), jsonText(day.Unix() / 86400)}
}

func drawTime(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormTimeMicros, envelope.FormTimeText)
	n.JSON.Scale = 6
	clock := time.Duration(rapid.Int64Range(0, 24*3600*1e6-1).Draw(t, "clock")) * time.Microsecond
	text := time.Unix(0, int64(clock)).UTC().Format("15:04:05.000000")
	return change.TimeValue(int64(clock/time.Second), int32(clock%time.Second)), Want{clock, jsonText(text)}
}

func drawTimeNumber(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormTimeMillis, envelope.FormTimeMillis)
	millis := rapid.Int64Range(0, 24*3600*1e3-1).Draw(t, "clock")
	return change.TimeValue(millis/1000, int32(millis%1000*1e6)), Want{time.Duration(millis) * time.Millisecond, jsonText(millis)}
}

func drawDateTime(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormTimestampMicros, envelope.FormDateTimeText)
	n.JSON.Scale = 6
	at := drawMoment(t, time.Microsecond)
	return change.DateTimeValue(at.Unix(), int32(at.Nanosecond())), Want{at, jsonText(at.Format("2006-01-02 15:04:05.000000"))}
}

func drawTimestamp(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	switch rapid.IntRange(0, 2).Draw(t, "unit") {
	case 0:
		set(n, envelope.FormTimestampMillis, envelope.FormTimestampMillis)
		at := drawMoment(t, time.Millisecond)
		return change.InstantValue(at.Unix(), int32(at.Nanosecond()), 60), Want{at, jsonText(at.UnixMilli())}
	case 1:
		set(n, envelope.FormTimestampMicros, envelope.FormTimestampMicros)
		at := drawMoment(t, time.Microsecond)
		return change.InstantValue(at.Unix(), int32(at.Nanosecond()), -60), Want{at, jsonText(at.UnixMicro())}
	}
	set(n, envelope.FormTimestampNanos, envelope.FormTimestampNanos)
	nanos := rapid.Int64().Draw(t, "nanos")
	at := time.Unix(0, nanos).UTC()
	return change.InstantValue(at.Unix(), int32(at.Nanosecond()), 0), Want{at, jsonText(nanos)}
}

func drawISOMillis(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormISOMillis, envelope.FormISOMillis)
	at := drawMoment(t, time.Nanosecond)
	text := at.Format("2006-01-02T15:04:05.000")
	return change.InstantValue(at.Unix(), int32(at.Nanosecond()), 90), Want{text, jsonText(text)}
}

func drawInstant(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormInstantText, envelope.FormInstantText)
	n.Avro.Scale, n.JSON.Scale = 7, 7
	at := drawMoment(t, 100*time.Nanosecond)
	offset := rapid.Int16Range(-14*60, 14*60).Draw(t, "offset")
	local := at.In(time.FixedZone("", int(offset)*60))
	if local.Year() < 1 || local.Year() > 9999 {
		offset, local = 0, at
	}
	text := local.Format("2006-01-02 15:04:05.0000000 -07:00")
	return change.InstantValue(at.Unix(), int32(at.Nanosecond()), offset), Want{text, jsonText(text)}
}

func drawISO(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	at := drawMoment(t, rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Microsecond, time.Second}).Draw(t, "unit"))
	switch rapid.IntRange(0, 2).Draw(t, "part") {
	case 0:
		set(n, envelope.FormISODate, envelope.FormISODate)
		day := at.Truncate(24 * time.Hour)
		text := day.Format("2006-01-02Z")
		return change.DateValue(day.Unix() / 86400), Want{text, jsonText(text)}
	case 1:
		set(n, envelope.FormISOTime, envelope.FormISOTime)
		text := at.Format("15:04:05.999999999Z")
		return change.TimeValue(int64(at.Sub(at.Truncate(24*time.Hour))/time.Second), int32(at.Nanosecond())), Want{text, jsonText(text)}
	}
	set(n, envelope.FormISOInstant, envelope.FormISOInstant)
	offset := rapid.SampledFrom([]int16{0, 0, 180, -570}).Draw(t, "offset")
	local := at.In(time.FixedZone("", int(offset)*60))
	if local.Year() < 1 || local.Year() > 9999 {
		offset, local = 0, at
	}
	text := local.Format(time.RFC3339Nano)
	return change.InstantValue(at.Unix(), int32(at.Nanosecond()), offset), Want{text, jsonText(text)}
}

// drawPlain draws the numbers of dates and times without their logical types.
func drawPlain(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	n.Avro.Plain = true
	at := drawMoment(t, time.Millisecond)
	clock := at.Sub(at.Truncate(24 * time.Hour))
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		set(n, envelope.FormDate, envelope.FormDate)
		days := at.Truncate(24*time.Hour).Unix() / 86400
		return change.DateValue(days), Want{int32(days), jsonText(days)}
	case 1:
		set(n, envelope.FormTimeNanos, envelope.FormTimeNanos)
		return change.TimeValue(int64(clock/time.Second), int32(clock%time.Second)), Want{int64(clock), jsonText(clock)}
	}
	set(n, envelope.FormTimestampMillis, envelope.FormTimestampMillis)
	return change.DateTimeValue(at.Unix(), int32(at.Nanosecond())), Want{at.UnixMilli(), jsonText(at.UnixMilli())}
}

func drawDuration(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDurationMicros, envelope.FormDurationMicros)
	micros := rapid.Int64Range(-839*3600*1e6, 839*3600*1e6).Draw(t, "duration")
	return change.TimeValue(micros/1e6, int32(micros%1e6)*1000), Want{micros, jsonText(micros)}
}

func drawSpan(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	at := drawMoment(t, time.Millisecond)
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		set(n, envelope.FormMidnightMicros, envelope.FormISOMidnight)
		day := at.Truncate(24 * time.Hour)
		return change.DateValue(day.Unix() / 86400), Want{day, jsonText(day.Format(time.RFC3339))}
	case 1:
		set(n, envelope.FormISODateTime, envelope.FormISODateTime)
		n.Avro.Scale, n.JSON.Scale = 3, 3
		text := at.Format("2006-01-02T15:04:05.000")
		return change.DateTimeValue(at.Unix(), int32(at.Nanosecond())), Want{text, jsonText(text)}
	}
	set(n, envelope.FormBits, envelope.FormBits)
	bits := rapid.Int64Range(0, math.MaxInt64).Draw(t, "bits")
	return change.BytesValue(new(big.Int).SetInt64(bits).Bytes()), Want{bits, jsonText(bits)}
}

func drawNearest(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDecimalDouble, envelope.FormDecimalDouble)
	text, value, _, _ := DrawDecimal(t)
	f, _ := value.Float64()
	if f == 0 {
		text = "0"
	}
	return change.DecimalValue([]byte(text)), Want{f, jsonText(f)}
}

func drawBase64Decimal(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormDecimalBytes, envelope.FormDecimalBase64)
	text, value, precision, scale := DrawDecimal(t)
	n.Avro.Precision, n.Avro.Scale = precision, scale
	n.JSON.Precision, n.JSON.Scale = precision, scale
	return change.DecimalValue([]byte(text)), Want{value, jsonText(base64.StdEncoding.EncodeToString(unscaled(value, scale)))}
}

// unscaled gives the shortest two's complement of a number's digits.
func unscaled(value *big.Rat, scale int) []byte {
	n := new(big.Int).Mul(value.Num(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	n.Quo(n, value.Denom())
	size := 1
	for limit := big.NewInt(128); n.Cmp(limit) >= 0 || n.Cmp(new(big.Int).Neg(limit)) < 0; limit.Lsh(limit, 8) {
		size++
	}
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	return n.FillBytes(make([]byte, size))
}

func drawEnum(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormEnum, envelope.FormEnum)
	n.Avro.Symbols, n.JSON.Symbols = statuses, statuses
	s := rapid.SampledFrom(statuses).Draw(t, "symbol")
	return change.TextValue([]byte(s)), Want{s, jsonText(s)}
}

func drawFixed(t *rapid.T, n *envelope.Node) (change.Value, Want) {
	set(n, envelope.FormFixed, envelope.FormFixed)
	s := rapid.StringN(1, 8, -1).Draw(t, "fixed")
	n.Avro.Scale, n.JSON.Scale = len(s), len(s)
	return change.TextValue([]byte(s)), Want{[]byte(s), jsonText(s)}
}
