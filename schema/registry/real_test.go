package registry

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"ctbridge/bridge/fault"
)

// TestRealRegistry goes through every operation against a real registry.
func TestRealRegistry(t *testing.T) {
	t.Parallel()
	url := os.Getenv("CTBRIDGE_TEST_REGISTRY")
	if url == "" {
		t.Skip("CTBRIDGE_TEST_REGISTRY is not set")
	}
	c, ctx := newClient(t, Config{URL: url, Compatibility: "BACKWARD"}), t.Context()
	if err := c.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	subject := fmt.Sprintf("ctbridge.test$%08x-value", rand.Uint32())
	if _, found, err := c.Lookup(ctx, subject, schemaOne); found || err != nil {
		t.Errorf("unknown subject: %v, %v", found, err)
	}
	if _, found, err := c.Latest(ctx, subject); found || err != nil {
		t.Errorf("unknown subject: %v, %v", found, err)
	}
	if v, err := c.Compatible(ctx, subject, schemaOne); !v.Compatible || err != nil {
		t.Errorf("unknown subject: %+v, %v", v, err)
	}
	if level, own, err := c.Compatibility(ctx, subject); level == "" || own || err != nil {
		t.Errorf("unknown subject: %q, %v, %v", level, own, err)
	}
	first, err := c.Register(ctx, subject, schemaOne)
	if err != nil {
		t.Fatal(err)
	}
	if level, own, err := c.Compatibility(ctx, subject); level != "BACKWARD" || !own || err != nil {
		t.Errorf("a new subject: %q, %v, %v", level, own, err)
	}
	second, err := c.Register(ctx, subject, schemaTwo)
	if err != nil || second == first {
		t.Fatalf("%d, %d, %v", first, second, err)
	}
	checkReal(t, newClient(t, Config{URL: url}), subject, map[string]int{schemaOne: first, schemaTwo: second})
}

// checkReal asks with a client that knows nothing yet.
func checkReal(t *testing.T, c *Client, subject string, ids map[string]int) {
	ctx := t.Context()
	for schema, id := range ids {
		if got, found, err := c.Lookup(ctx, subject, schema); got != id || !found || err != nil {
			t.Errorf("lookup: %d, %v, %v; want %d", got, found, err, id)
		}
		if got, err := c.ByID(ctx, id); got != schema || err != nil {
			t.Errorf("by id: %s, %v", got, err)
		}
	}
	if latest, found, err := c.Latest(ctx, subject); latest.ID != ids[schemaTwo] || latest.Text != schemaTwo || !found || err != nil {
		t.Errorf("latest: %+v, %v, %v", latest, found, err)
	}
	if v, err := c.Compatible(ctx, subject, schemaBad); v.Compatible || err != nil {
		t.Errorf("compatible: %+v, %v", v, err)
	}
	if _, err := c.Register(ctx, subject, schemaBad); fault.ClassOf(err) != fault.Table || err == nil || !strings.Contains(err.Error(), subject) {
		t.Errorf("an incompatible schema: class %v: %v", fault.ClassOf(err), err)
	} else {
		t.Log(err)
	}
	if _, err := c.Register(ctx, subject, `{"type":"record"}`); fault.ClassOf(err) != fault.Table || err == nil {
		t.Errorf("no schema: class %v: %v", fault.ClassOf(err), err)
	} else {
		t.Log(err)
	}
	if err := c.SetCompatibility(ctx, subject, "NONE"); err != nil {
		t.Error(err)
	}
	if level, own, err := c.Compatibility(ctx, subject); level != "NONE" || !own || err != nil {
		t.Errorf("%s, %v, %v", level, own, err)
	}
	if _, err := c.ByID(ctx, 1<<30); err == nil || fault.ClassOf(err) != fault.Table {
		t.Errorf("unknown id: class %v: %v", fault.ClassOf(err), err)
	}
}
