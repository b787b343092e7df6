package config

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

func TestTopicFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template string
		id       change.TableID
		want     string
	}{
		{"{schema}.{table}", change.TableID{Schema: "dbo", Name: "orders"}, "dbo.orders"},
		{"{schema}.{table}", change.TableID{Name: "orders"}, "orders"},
		{"cdc-{schema}-{table}", change.TableID{Name: "orders"}, "cdc-orders"},
		{"{table}.{schema}", change.TableID{Name: "orders"}, "orders."},
		{"everything", change.TableID{Schema: "dbo", Name: "orders"}, "everything"},
		{"{schema}.{table}", change.TableID{Schema: "dbo", Name: "{schema}"}, "dbo._u007Bschema_u007D"},
		{"{schema}.{table}", change.TableID{Schema: "dbo", Name: "order-items_2.old"}, "dbo.order-items_2.old"},
	} {
		k := Output{Topic: c.template}
		if got, err := k.TopicFor(c.id); err != nil || got != c.want {
			t.Errorf("%s for %s = %q, %v; want %q", c.template, c.id, got, err, c.want)
		}
	}
	k := Output{Topic: "{schema}.{table}"}
	for _, id := range []change.TableID{{Name: strings.Repeat("x", 250)}, {Name: "."}, {Name: ""}} {
		if got, err := k.TopicFor(id); err == nil {
			t.Errorf("%s passed as %q", id, got)
		}
	}
}

func TestCase63_TablesThatTopicsDoNotAllow(t *testing.T) {
	t.Parallel()
	k := Output{Topic: "{schema}.{table}"}
	if got, err := k.TopicFor(change.TableID{Schema: "dbo", Name: "&Test Orders"}); err != nil || got != "dbo._u0026Test_u0020Orders" {
		t.Error(got, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 20, -1).Draw(t, "name")
		if got, err := k.TopicFor(change.TableID{Schema: "dbo", Name: name}); err != nil || !legalName.MatchString(got) {
			t.Fatalf("%q → %q, %v", name, got, err)
		}
	})
}
