package mysql_test

import "ctbridge/source/enginetest"

// keysets are keys whose order is not that of their bytes, or whose text could lose something.
func keysets() []enginetest.Keyset {
	return []enginetest.Keyset{
		{DDL: "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", Literals: []string{"'a-b'", "'ab'", "'Ab'", "'a_b'", "'B'", "''", "'ß'"}},
		{DDL: "varchar(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci", Literals: []string{"'a-b'", "'ab'", "'Ab'", "'ä'", "'z'", "'y'", "'ü'"}},
		{DDL: "char(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", Literals: []string{"'a-b'", "'ab'", "'Ab'", "' a'"}},
		{DDL: "enum('zebra','ant','mule')", Literals: []string{"'ant'", "'mule'", "'zebra'"}},
		{DDL: "set('b','a')", Literals: []string{"'a'", "'b'", "'a,b'", "''"}},
		{DDL: "bigint unsigned", Literals: []string{"18446744073709551615", "9", "10"}},
		{DDL: "decimal(30,10)", Literals: []string{"10", "9.99", "-0.0000000001", "12345678901234567890.0123456789"}},
		{DDL: "float", Literals: []string{"0.1", "16777217", "1.17549e-38", "1234567.9"}},
		{DDL: "double", Literals: []string{"0.1", "0.30000000000000004", "0.3", "1e300"}},
		{DDL: "datetime(6)", Literals: []string{"'2024-01-01 00:00:00.000001'", "'2024-01-01 00:00:00.00001'", "'2023-12-31'"}},
		{DDL: "time(6)", Literals: []string{"'-10:00:00.5'", "'9:00:00.000001'", "'100:00:00'"}},
		{DDL: "bit(12)", Literals: []string{"b'100000000000'", "b'1'", "b'0'"}},
		{DDL: "varbinary(10)", Literals: []string{"x'00ff'", "x'ff'", "x''", "x'00'"}},
		{DDL: "binary(4)", Literals: []string{"x'00ff'", "x'ff'", "x'20'", "x'00'"}},
	}
}
