package config

import (
	"strings"
	"testing"

	"ctbridge/bridge/change"
)

// Of several entries that name a column the most exact one counts, in whatever order the file has them.
func TestPolicyOfAColumn(t *testing.T) {
	t.Parallel()
	c := SQLServerCDC{UnsupportedByColumn: map[ColumnPattern]UnsupportedPolicy{
		"*.*.route": "skip", "dbo.*.route": "string", "dbo.orders.route": "fail", `dbo."a.b".*`: "skip", "dbo.[st*r].spot*": "string",
	}}
	policy := c.ByColumn()
	for name, want := range map[string]string{
		"dbo.orders.route": "fail", "dbo.depot.route": "string", "shop.orders.route": "skip", "dbo.a.b.anything": "skip", "dbo.st*r.spot2": "string",
		"dbo.star.spot2": "", "dbo.orders.spot": "",
	} {
		schema, rest, _ := strings.Cut(name, ".")
		at := strings.LastIndex(rest, ".")
		got, own := policy(change.TableID{Schema: schema, Name: rest[:at]}, rest[at+1:])
		if got != want || own != (want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, own, want)
		}
	}
}

func TestStartAtAnLSN(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0x0000002A000001C80003": "0000002A000001C80003", "0x0000002a000001c80003": "0000002a000001c80003"} {
		if s, err := StartAt(text).parse(); err != nil || s != (Start{LSN: want}) {
			t.Errorf("%s gave %+v, %v", text, s, err)
		}
	}
	for _, text := range []StartAt{"0x0000002A000001C8000", "0x0000002A000001C80003A", "0000002A000001C80003", "0x0000002A000001C8000G"} {
		if _, err := text.parse(); err == nil || !strings.Contains(err.Error(), "LSN") {
			t.Errorf("%s gave %v", text, err)
		}
	}
}
