package sqlite_test

import "ctbridge/source/enginetest"

// keysets are keys whose order is not that of their bytes, or whose text could lose something.
func keysets() []enginetest.Keyset {
	return []enginetest.Keyset{
		{DDL: "varchar(20) COLLATE NOCASE", Literals: []string{"'a-b'", "'ab'", "'Ab'", "'a_b'", "'B'", "''", "'ß'"}},
		{DDL: "bigint", Literals: []string{"-9223372036854775808", "9223372036854775807", "10", "9"}},
		{DDL: "decimal(10,2)", Literals: []string{"10.5", "9.75", "-0.05", "1", "99999999.99"}},
		{DDL: "double", Literals: []string{"0.1", "0.30000000000000004", "0.3", "1e300", "-5e-324", "123456789.12345679"}},
		{DDL: "timestamp", Literals: []string{"'2024-01-01 00:00:00.000001'", "'2024-01-01 00:00:00.000010'", "'2023-12-31'"}},
		{DDL: "blob", Literals: []string{"x'00ff'", "x'ff'", "x''", "x'00'"}},
		{DDL: "", Literals: []string{"1", "'1'", "x'31'", "1.5", "'a'"}}, // storage classes mixed
	}
}
