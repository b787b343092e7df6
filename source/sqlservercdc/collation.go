package sqlservercdc

import (
	"context"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// foreignText lists single-byte text columns whose collation has another code page than the database's. Change data capture may store their text in the
// database's code page, and lose characters that it does not have (Microsoft Learn, "Known issues with change data capture"; case 52).
const foreignText = `SELECT CAST(c.TABLE_SCHEMA AS nvarchar(128)), CAST(c.TABLE_NAME AS nvarchar(128)), CAST(c.COLUMN_NAME AS nvarchar(128)), CAST(c.COLLATION_NAME AS nvarchar(128))
FROM INFORMATION_SCHEMA.COLUMNS c WHERE c.DATA_TYPE IN ('char', 'varchar', 'text') AND CONVERT(int, COLLATIONPROPERTY(c.COLLATION_NAME, 'CodePage')) <>
CONVERT(int, COLLATIONPROPERTY(CONVERT(nvarchar(128), DATABASEPROPERTYEX(DB_NAME(), 'Collation')), 'CodePage'))`

func foreignStatement(engine source.Engine) source.Statement {
	return engine.Prepare(foreignText, []change.Column{column("table_schema", change.WString), column("table_name", change.WString),
		column("column_name", change.WString), column("collation_name", change.WString)})
}

// warnForeign tells of captured columns whose text the change tables may hold damaged. It asks when the set of tables has changed; a server that cannot
// say is not worth an error.
func (l *Layout) warnForeign(ctx context.Context, tables []*source.Captured) error {
	captured := make(map[change.TableID]*source.Captured, len(tables))
	var list []string
	for _, t := range tables {
		captured[t.Table.ID] = t
		list = append(list, t.Table.ID.String())
	}
	if len(tables) == 0 || !l.said.anew("collations", strings.Join(list, " ")) {
		return nil
	}
	err := source.EachRow(ctx, l.foreign, 4, func(row []change.Value) error {
		id, name := change.TableID{Schema: string(row[0].Raw), Name: string(row[1].Raw)}, string(row[2].Raw)
		if t := captured[id]; t != nil && t.Table.ColumnIndex(name) >= 0 && l.said.anew("collation "+id.String()+" "+name, string(row[3].Raw)) {
			l.log.Warn("the column's collation has another code page than the database's: its text may be damaged in the change table", "table", id.String(), "column", name,
				"collation", string(row[3].Raw), "hint", "make it nvarchar, or give it a collation of the database's code page")
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		l.log.Info("whether collations suit change data capture cannot be told", "error", err)
		return nil
	}
	return err
}
