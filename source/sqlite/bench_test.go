package sqlite_test

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source/enginetest"
)

// BenchmarkRead reads an 18-column change table.
func BenchmarkRead(b *testing.B) {
	path, writer := newFile(b, "wal")
	engine := open(b, path)
	defer engine.Close()
	enginetest.Bench(b, engine, enginetest.BenchTable{
		ID:   change.TableID{Name: "parcel__ct"},
		Bare: writer,
		Columns: [][2]string{
			{"header__change_seq", "varchar(35)"}, {"header__change_oper", "varchar(1)"}, {"header__change_mask", "varbinary(128)"},
			{"header__stream_position", "varchar(128)"}, {"header__operation", "varchar(12)"}, {"header__transaction_id", "varchar(32)"},
			{"header__timestamp", "datetime"}, {"id", "bigint"}, {"customer", "int"}, {"status", "varchar(20)"}, {"fee", "decimal(10,2)"},
			{"weight", "double"}, {"active", "boolean"}, {"ship_date", "date"}, {"created", "datetime(3)"}, {"note", "varchar(200)"},
			{"token", "uuid"}, {"remark", "varchar(50)"},
		},
		Row: "'I', x'ff03', '000001a4:00000002', 'INSERT', '0000000000000000000000000001f3a9', '2031-05-10 16:00:01.604805', 123456789, 4711, " +
			"'delivered', '12.34', 2.5, 1, '2031-05-10', '2031-05-10 16:00:01.604', 'left with the neighbour at the blue door', " +
			"'00112233-4455-6677-8899-aabbccddeeff', NULL",
	})
}
