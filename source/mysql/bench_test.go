package mysql_test

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source/enginetest"
	"ctbridge/source/mysql"
)

// BenchmarkRead reads an 18-column change table.
func BenchmarkRead(b *testing.B) {
	s := newScratch(b)
	engine := s.open(b, nil, mysql.Config{})
	defer engine.Close()
	enginetest.Bench(b, engine, enginetest.BenchTable{
		ID:   change.TableID{Schema: s.name, Name: "parcel__ct"},
		Bare: s.admin,
		Columns: [][2]string{
			{"header__change_seq", "varchar(35)"}, {"header__change_oper", "varchar(1)"}, {"header__change_mask", "varbinary(128)"},
			{"header__stream_position", "varchar(128)"}, {"header__operation", "varchar(12)"}, {"header__transaction_id", "varchar(32)"},
			{"header__timestamp", "datetime(6)"}, {"id", "bigint"}, {"customer", "int"}, {"status", "varchar(20)"}, {"fee", "decimal(10,2)"},
			{"weight", "double"}, {"active", "boolean"}, {"ship_date", "date"}, {"created", "timestamp(3) NULL"}, {"note", "varchar(200)"},
			{"token", "uuid"}, {"remark", "varchar(50)"},
		},
		Row: "'I', x'ff03', '000001a4:00000002', 'INSERT', '0000000000000000000000000001f3a9', '2031-05-10 16:00:01.604805', 123456789, 4711, " +
			"'delivered', '12.34', 2.5, 1, '2031-05-10', '2031-05-10 16:00:01.604', 'left with the neighbour at the blue door', " +
			"'00112233-4455-6677-8899-aabbccddeeff', NULL",
	})
}
