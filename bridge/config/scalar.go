package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setScalar reads text into v, which is a text, a truth value, a whole number, a duration or something that reads text itself. The error
// completes a sentence that begins with the value.
func setScalar(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch {
	case v.Type() == durationType:
		d, err := parseDuration(text)
		v.SetInt(int64(d))
		return err
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "true")
		if text != "true" && text != "false" {
			return errors.New("is neither true nor false")
		}
	case v.Kind() == reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return errors.New("is not a whole number")
		}
		v.SetInt(n)
	default:
		v.SetString(text)
	}
	return nil
}

// parseDuration wants a unit, also for zero.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || text == strings.Trim(text, "hmsuµn") {
		return 0, errors.New("is not a duration: write a number with its unit, like 200ms, 30s or 5m")
	}
	return d, nil
}

// check compares a value with what its field allows.
func (f *field) check(v reflect.Value) error {
	if f.oneof != nil && !slices.Contains(f.oneof, v.String()) {
		return fmt.Errorf("is not one of %s%s", strings.Join(quoteEmpty(f.oneof), ", "), suggestion(v.String(), f.oneof))
	}
	if f.min != "" && v.Int() < limit(v.Type(), f.min) {
		return fmt.Errorf("is below the least value %s", f.min)
	}
	if f.max != "" && v.Int() > limit(v.Type(), f.max) {
		return fmt.Errorf("is above the greatest value %s", f.max)
	}
	return nil
}

// limit reads a min or max tag, which a test checks.
func limit(t reflect.Type, text string) int64 {
	v := reflect.New(t).Elem()
	_ = setScalar(v, text)
	return v.Int()
}

func quoteEmpty(texts []string) []string {
	out := slices.Clone(texts)
	for i, text := range out {
		if text == "" {
			out[i] = `""`
		}
	}
	return out
}

// suggestion is `: did you mean …?` where a known word is near.
func suggestion(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// nearest finds the known word that a slip of the pen makes of word, "" if none is near enough.
func nearest(word string, known []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	plain := plainWord(word)
	if len(plain) > 64 {
		return ""
	}
	for _, k := range known {
		d := distance(plain, plainWord(k))
		if len(plain) > 2 && strings.HasPrefix(plainWord(k), plain) {
			d = 1
		}
		if k != "" && d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// plainWord leaves out what people spell differently: pollInterval, poll-interval and poll_interval are one.
func plainWord(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(s))
}

// distance is the number of letters to insert, drop or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
