package postgres

import "ctbridge/source/enginetest"

// keysets are keys whose order is not that of their bytes, or whose text could lose something.
func keysets() []enginetest.Keyset {
	return []enginetest.Keyset{
		{DDL: `varchar(20) COLLATE "und-x-icu"`, Literals: []string{"'a-b'", "'ab'", "'Ab'", "'a_b'", "'B'", "''", "'ß'"}},
		{DDL: `text COLLATE "C"`, Literals: []string{"'a-b'", "'ab'", "'Ab'"}},
		{DDL: "char(5)", Literals: []string{"'a'", "'a-b'", "'ab'", "' a'"}},
		{DDL: "uuid", Literals: []string{"'ffffffff-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"}},
		{DDL: "numeric", Literals: []string{"10", "9.99", "-0.000000000000000000001", "1e100"}},
		{DDL: "double precision", Literals: []string{"0.1", "0.30000000000000004", "0.3", "1e300", "-5e-324"}},
		{DDL: "real", Literals: []string{"0.1", "16777217", "-1e-40"}},
		{DDL: "timestamp", Literals: []string{"'2024-01-01 00:00:00.000001'", "'2024-01-01 00:00:00.00001'", "'2023-12-31'"}},
		{DDL: "timestamptz", Literals: []string{"'2024-01-01 00:00:00.000001+05'", "'2024-01-01 00:00:00.00001-03'"}},
		{DDL: "bytea", Literals: []string{`'\x00ff'`, `'\xff'`, `'\x'`, `'\x5c'`}},
		{DDL: "public.mood", Literals: []string{"'so so'", "'sad'"}},
	}
}
