package main

import (
	"context"
	"testing"
)

// Every message can be encoded, allocates nothing, and has about the size of its row.
func TestEncoding(t *testing.T) {
	t.Parallel()
	list, err := encodings(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 14 {
		t.Errorf("%d measurements", len(list))
	}
	for _, e := range list {
		if e.Bytes < 150*float64(e.Images) || e.Bytes > 3000 || len(e.Nanos) != encodeRuns || median(e.Nanos) <= 0 {
			t.Errorf("%+v", e)
		}
	}
}
