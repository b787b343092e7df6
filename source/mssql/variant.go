package mssql

// variantText is the text of an sql_variant without loss: converted as a whole, a float would keep six digits and a datetime would lose its seconds (Microsoft
// Learn, "CAST and CONVERT": default styles). Text of more characters than nvarchar(4000) holds goes through varchar(8000).
func variantText(expr string) string {
	long := func(text string) string { return "CONVERT(nvarchar(max), " + text + ")" }
	as := func(typ, style string) string {
		return "CONVERT(nvarchar(max), CONVERT(" + typ + ", " + expr + "), " + style + ")"
	}
	property := func(name string) string { return "SQL_VARIANT_PROPERTY(" + expr + ", '" + name + "')" }
	return "CASE CONVERT(nvarchar(128), " + property("BaseType") + ")" +
		" WHEN N'float' THEN " + as("float", "3") +
		" WHEN N'real' THEN " + as("real", "3") +
		" WHEN N'money' THEN " + long("CONVERT(decimal(19, 4), "+expr+")") +
		" WHEN N'smallmoney' THEN " + long("CONVERT(decimal(19, 4), "+expr+")") +
		" WHEN N'datetime' THEN " + as("datetime", "121") +
		" WHEN N'smalldatetime' THEN " + as("smalldatetime", "120") +
		" WHEN N'datetime2' THEN " + as("datetime2(7)", "121") +
		" WHEN N'datetimeoffset' THEN " + as("datetimeoffset(7)", "121") +
		" WHEN N'date' THEN " + as("date", "23") +
		" WHEN N'time' THEN " + as("time(7)", "121") +
		" WHEN N'binary' THEN " + as("varbinary(8000)", "2") +
		" WHEN N'varbinary' THEN " + as("varbinary(8000)", "2") +
		" ELSE CASE WHEN CONVERT(int, " + property("MaxLength") + ") > 4000 AND CONVERT(nvarchar(128), " + property("BaseType") + ") IN (N'varchar', N'char')" +
		" THEN " + long("CONVERT(varchar(8000), "+expr+")") + " ELSE " + long("CONVERT(nvarchar(4000), "+expr+")") + " END END"
}
