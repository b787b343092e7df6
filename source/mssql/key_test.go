package mssql

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source/enginetest"
)

// keysets are keys whose order is not that of their bytes, for a server that executes T-SQL.
func keysets() []enginetest.Keyset {
	return []enginetest.Keyset{
		{DDL: "uniqueidentifier", Literals: []string{"'FFFFFFFF-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"}},
		{DDL: "varchar(20) COLLATE SQL_Latin1_General_CP1_CI_AS", Literals: []string{"'a-b'", "'ab'", "'Ab'", "'a_b'", "'B'"}},
		{DDL: "nvarchar(20) COLLATE Latin1_General_CI_AS", Literals: []string{"N'a-b'", "N'ab'", "N'Ab'", "N'名'"}},
		{DDL: "datetime2(7)", Literals: []string{"'2024-01-01 00:00:00.0000001'", "'2024-01-01 00:00:00.000001'"}},
		{DDL: "datetime", Literals: []string{"'2024-01-01 00:00:00.003'", "'2024-01-01 00:00:00.007'"}},
		{DDL: "decimal(10,2)", Literals: []string{"10", "9.99", "-0.01"}},
		{DDL: "float", Literals: []string{"0.1", "0.30000000000000004", "0.3"}},
		{DDL: "varbinary(10)", Literals: []string{"0x00ff", "0xff", "0x00"}},
	}
}

// What no server at hand may run is at least written as its manual says.
func TestKeySQL(t *testing.T) {
	t.Parallel()
	for native, want := range map[string]struct {
		kind        change.Kind
		text, param string
	}{
		"int":              {change.Int4, "CONVERT(varchar(100), t.[k])", "CONVERT(int, @p2)"},
		"decimal(10,2)":    {change.Numeric, "CONVERT(varchar(100), t.[k])", "CONVERT(decimal(10,2), @p2)"},
		"money":            {change.Numeric, "CONVERT(varchar(100), CAST(t.[k] AS decimal(19, 4)))", "CONVERT(money, @p2)"},
		"float":            {change.Real8, "CONVERT(varchar(100), t.[k], 3)", "CONVERT(float, @p2, 3)"},
		"varchar(20)":      {change.String, "t.[k]", "CONVERT(varchar(20), @p2)"},
		"nvarchar(20)":     {change.WString, "t.[k]", "CONVERT(nvarchar(20), @p2)"},
		"uniqueidentifier": {change.UUID, "CONVERT(varchar(100), t.[k])", "CONVERT(uniqueidentifier, @p2)"},
		"datetime2(7)":     {change.DateTime, "CONVERT(varchar(100), t.[k], 121)", "CONVERT(datetime2(7), @p2, 121)"},
		"varbinary(8)":     {change.Bytes, "CONVERT(varchar(max), CAST(t.[k] AS varbinary(8)), 2)", "CONVERT(varbinary(8), @p2, 2)"},
		"rowversion":       {change.Bytes, "CONVERT(varchar(max), CAST(t.[k] AS binary(8)), 2)", "CONVERT(binary(8), @p2, 2)"},
		"hierarchyid":      {change.String, "t.[k].ToString()", "hierarchyid::Parse(@p2)"},
	} {
		c := change.Column{Name: "k", Native: native, Type: change.Type{Kind: want.kind}}
		if got := (dialect{}).KeyText("t", c); got != want.text {
			t.Errorf("%s: text %s, want %s", native, got, want.text)
		}
		if got := (dialect{}).KeyParam(2, c); got != want.param {
			t.Errorf("%s: param %s, want %s", native, got, want.param)
		}
	}
}
