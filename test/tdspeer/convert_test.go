package tdspeer

import (
	"fmt"
	"slices"
	"testing"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT CONVERT(varchar(100), t.[id]) FROM t":                           `SELECT CAST(t."id" AS TEXT) FROM t`,
		"WHERE t.[id] > CONVERT(int, @p1)":                                      `WHERE t."id" > CAST(@p1 AS INTEGER)`,
		"CONVERT(varchar(max), CAST([k] AS varbinary(8)), 2)":                   `hex(CAST("k" AS BLOB))`,
		"CONVERT(varbinary(8), @p1, 2)":                                         "unhex(@p1)",
		"CONVERT(varchar(100), CAST([k] AS decimal(19, 4)))":                    `CAST(CAST("k" AS TEXT) AS TEXT)`,
		"CONVERT(varchar(100), [k], 3), CONVERT(datetime2(7), 'a,b)', 121)":     `printf('%!.17g', "k"), CAST('a,b)' AS TEXT)`,
		"CREATE TABLE t ([a] uniqueidentifier, [b] varchar(9) COLLATE X_CI_AS)": `CREATE TABLE t ("a" TEXT_uniqueidentifier COLLATE sqlserver_guid, "b" TEXT_varchar(9) COLLATE NOCASE)`,
	} {
		if got := toSQLite(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// Keys travel as text that the database wrote; it alone compares them. What comes behind each key is what ORDER BY puts behind it.
func TestKeysAsText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, text, param string
		values           []string
		order            []string // as text, the first expected first; nil = not looked at
	}{
		{"uniqueidentifier", "CONVERT(varchar(100), [k])", "CONVERT(uniqueidentifier, @p1)",
			[]string{"'FFFFFFFF-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"},
			[]string{"FFFFFFFF-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"}},
		{"int", "CONVERT(varchar(100), [k])", "CONVERT(int, @p1)", []string{"9", "10", "-1"}, []string{"-1", "9", "10"}},
		{"float", "CONVERT(varchar(100), [k], 3)", "CONVERT(float, @p1, 3)", []string{"0.1", "0.30000000000000004", "0.3"}, nil},
		{"varbinary(10)", "CONVERT(varchar(max), CAST([k] AS varbinary(10)), 2)", "CONVERT(varbinary(10), @p1, 2)", []string{"0x00ff", "0xff", "0x00"}, []string{"00", "00FF", "FF"}},
		{"varchar(20) COLLATE SQL_Latin1_General_CP1_CI_AS", "[k]", "CONVERT(varchar(20), @p1)", []string{"'b'", "'A'", "'C'"}, []string{"A", "b", "C"}},
	} {
		d := NewDatabase(t, "dbo")
		admin := d.Admin()
		defer admin.Close()
		exec := func(text string) {
			if _, err := admin.Exec(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		exec("CREATE TABLE [dbo].[t] ([k] " + c.typ + " NOT NULL, PRIMARY KEY ([k]))")
		for _, v := range c.values {
			exec("INSERT INTO [dbo].[t] VALUES (" + v + ")")
		}
		keys := func(where string, args ...any) (out []string) {
			r := d.Answer("SELECT "+c.text+" FROM [dbo].[t] t "+where+" ORDER BY t.[k]", args)
			if r.Err != nil {
				t.Fatalf("%s: %v", c.typ, r.Err)
			}
			for _, row := range r.Rows {
				out = append(out, fmt.Sprint(row[0]))
			}
			return out
		}
		all := keys("")
		if c.order != nil && !slices.Equal(all, c.order) {
			t.Errorf("%s: order %v, want %v", c.typ, all, c.order)
		}
		for i, key := range all {
			if got := keys("WHERE t.[k] > "+c.param, VarChar(key)); !slices.Equal(got, all[i+1:]) && len(got)+len(all[i+1:]) > 0 {
				t.Errorf("%s: behind %s come %v, want %v", c.typ, key, got, all[i+1:])
			}
		}
	}
}
