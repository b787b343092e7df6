package demo

import (
	"fmt"
	"slices"
	"strings"
)

// stateSQL makes what the triggers share. demo_state has one row: the number and the time of the newest change sequence, the number of the
// newest transaction, whether a transaction was announced (open), where the last row was written (mark), and every byte once, because SQLite
// before 3.41 has no other way to build a blob from numbers. demo_header shows it as header columns.
//
// Triggers do not see where a transaction begins. The workload announces its own (see beginSQL); without that, every statement is a
// transaction of its own. The rows of one statement are known by two things: SQLite keeps the moment the same while it runs, and counts its
// changes when it ends, so that total_changes() moves only by what the triggers themselves do.
const stateSQL = `
CREATE TABLE demo_state (
  number INTEGER NOT NULL,
  time TEXT NOT NULL,
  tx INTEGER NOT NULL,
  open INTEGER NOT NULL,
  mark TEXT NOT NULL,
  bytes BLOB NOT NULL
);
INSERT INTO demo_state VALUES (0, '', 0, 0, '', x'%X');
CREATE VIEW demo_header AS SELECT
  time || printf('%%019d', number) AS seq,
  printf('%%08x:%%016x', tx, number) AS pos,
  printf('%%032X', tx) AS tx,
  strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now') AS at,
  bytes
FROM demo_state;
`

// Announcing a transaction: both statements run inside it, so that nobody else ever sees open = 1.
const (
	beginSQL = `UPDATE demo_state SET tx = tx + 1, open = 1`
	endSQL   = `UPDATE demo_state SET open = 0, mark = ''`
)

// advanceSQL takes the next change sequence. Its time is UTC to hundredths of a second and never goes back, even if the clock does.
const advanceSQL = `  UPDATE demo_state SET
    number = number + 1,
    time = max(time, substr(replace(strftime('%Y%m%d%H%M%f', 'now'), '.', ''), 1, 16)),
    tx = tx + (NOT open AND mark <> strftime('%Y-%m-%d %H:%M:%f ', 'now') || total_changes());
`

// markSQL is a trigger's last statement: the next row of the same statement will find the mark as it is.
const markSQL = `  UPDATE demo_state SET mark = strftime('%Y-%m-%d %H:%M:%f ', 'now') || (total_changes() + 1);
`

// headerDDL are the header columns of a change table, in the vendor's order.
var headerDDL = []string{
	"header__change_seq varchar(35) NOT NULL", "header__change_oper varchar(1) NOT NULL", "header__change_mask varbinary(128)",
	"header__stream_position varchar(128)", "header__operation varchar(12)", "header__transaction_id varchar(32)", "header__timestamp timestamp(3)",
}

// schemaSQL makes the whole shop.
func schemaSQL() string {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	var b strings.Builder
	fmt.Fprintf(&b, stateSQL, all)
	for _, t := range tables() {
		b.WriteString(t.baseSQL())
		b.WriteString(t.changesSQL())
		b.WriteString(t.triggersSQL())
	}
	return b.String()
}

func (t *table) baseSQL() string {
	var parts []string
	for _, c := range t.columns {
		parts = append(parts, strings.TrimSpace(c.name+" "+c.declared+" "+strings.ReplaceAll(c.rules, "@", c.name)))
	}
	if len(t.key) > 1 {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(t.key, ", ")+")")
	}
	return fmt.Sprintf("CREATE TABLE %s (\n  %s\n);\n", t.name, strings.Join(parts, ",\n  "))
}

func (t *table) changesSQL() string {
	parts := slices.Clone(headerDDL)
	for _, c := range t.columns {
		parts = append(parts, c.name+" "+c.declared)
	}
	return fmt.Sprintf("CREATE TABLE %[1]s__ct (\n  %[2]s\n);\nCREATE INDEX %[1]s__ct_seq ON %[1]s__ct (header__change_seq);\n", t.name, strings.Join(parts, ",\n  "))
}

// triggersSQL makes one trigger for each operation. An update that changes nothing is not stored.
func (t *table) triggersSQL() string {
	differs := t.each("OLD.%[1]s IS NOT NEW.%[1]s")
	update := t.recordSQL("B", "BEFOREIMAGE", t.mask(nil), "OLD") + t.recordSQL("U", "UPDATE", t.changedMask(), "NEW")
	return t.triggerSQL("insert", "", t.recordSQL("I", "INSERT", t.mask(t.names()), "NEW")) +
		t.triggerSQL("update", "\nWHEN "+strings.Join(differs, " OR "), update) +
		t.triggerSQL("delete", "", t.recordSQL("D", "DELETE", t.mask(t.key), "OLD"))
}

func (t *table) triggerSQL(operation, when, records string) string {
	return fmt.Sprintf("CREATE TRIGGER %[1]s_%[2]s AFTER %[2]s ON %[1]s%[3]s\nBEGIN\n", t.name, operation, when) + advanceSQL + records + markSQL + "END;\n"
}

// recordSQL writes one row of the change table from an image, OLD or NEW.
func (t *table) recordSQL(oper, operation, mask, image string) string {
	return fmt.Sprintf("  INSERT INTO %s__ct SELECT seq, '%s', %s, pos, '%s', tx, at, %s FROM demo_header;\n",
		t.name, oper, mask, operation, strings.Join(t.each(image+".%s"), ", "))
}

func (t *table) names() []string { return t.each("%s") }

// each writes a text for every column.
func (t *table) each(format string) []string {
	out := make([]string, len(t.columns))
	for i, c := range t.columns {
		out[i] = fmt.Sprintf(format, c.name)
	}
	return out
}

// A change mask has one bit for each column of the change table, the header columns included, in the order that the vendor documents: byte 0
// holds bits 7 to 0.

// mask is a constant with the bits of the named columns.
func (t *table) mask(names []string) string {
	bits := make([]byte, (len(headerDDL)+len(t.columns)+7)/8)
	for i, c := range t.columns {
		if bit := len(headerDDL) + i; slices.Contains(names, c.name) {
			bits[bit/8] |= 1 << (bit % 8)
		}
	}
	return fmt.Sprintf("x'%X'", bits)
}

// changedMask is an expression with the bits of the columns that an update changes.
func (t *table) changedMask() string {
	sums := make([][]string, (len(headerDDL)+len(t.columns)+7)/8)
	for i, c := range t.columns {
		bit := len(headerDDL) + i
		sums[bit/8] = append(sums[bit/8], fmt.Sprintf("%d * (OLD.%[2]s IS NOT NEW.%[2]s)", 1<<(bit%8), c.name))
	}
	parts := make([]string, len(sums))
	for i, sum := range sums {
		parts[i] = "substr(bytes, 1 + " + strings.Join(sum, " + ") + ", 1)"
	}
	return "CAST(" + strings.Join(parts, " || ") + " AS BLOB)"
}
