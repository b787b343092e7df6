package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Fail classifies err at the adapter's edge; nil stays nil and an error that has a class keeps it. A context that has ended is named as the
// cause, whatever the driver made of it.
func (d *DB) Fail(ctx context.Context, where string, err error) error {
	if err == nil {
		return nil
	}
	end := ctx.Err()
	if end == nil {
		return d.classified(where, err)
	}
	if !errors.Is(err, end) {
		err = fmt.Errorf("%w: %w", end, err)
	}
	return fault.New(fault.Retry, where, err, "")
}

func (d *DB) classified(where string, err error) error {
	if known := (*fault.Error)(nil); errors.As(err, &known) {
		return err
	}
	if d.product.Lost != nil && d.product.Lost(err) {
		d.pool.SetMaxIdleConns(0)
		d.pool.SetMaxIdleConns(d.pool.Stats().MaxOpenConnections)
	}
	class, hint := d.product.Classify(err)
	return fault.New(class, where, err, hint)
}

// Poison is the error of a value that its column cannot hold exactly (I6). It names the column and shows the value, cut to a
// readable length. A cause that is a *fault.Error gives its hint.
func Poison(c change.Column, src any, cause error) error {
	hint := ""
	var hinted *fault.Error
	if errors.As(cause, &hinted) {
		cause, hint = hinted.Err, hinted.Hint
	}
	err := fmt.Errorf("value %s of type %s: %w", show(src), c.Native, cause)
	return fault.New(fault.Poison, "decode column "+strconv.Quote(c.Name), err, hint)
}

// Unexpected is a decoder's answer to a Go type that it has no rule for.
func Unexpected(src any) error { return fmt.Errorf("the driver gave a %T", src) }

// sent is what the driver gave, as bytes: text as it is, numbers in decimal, times as RFC 3339.
func sent(src any) []byte {
	switch v := src.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	case time.Time:
		return v.AppendFormat(nil, time.RFC3339Nano)
	}
	return fmt.Append(nil, src)
}

// shown is how many bytes of a value an error shows.
const shown = 64

func show(src any) string {
	switch v := src.(type) {
	case []byte:
		if utf8.Valid(v) {
			return quoteShort(string(v))
		}
		return fmt.Sprintf("0x%x", v[:min(len(v), shown)])
	case string:
		return quoteShort(v)
	}
	return fmt.Sprint(src)
}

func quoteShort(s string) string {
	if len(s) <= shown {
		return strconv.Quote(s)
	}
	end := shown
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(s[:end]) + "..."
}
