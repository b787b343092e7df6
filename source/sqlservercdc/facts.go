package sqlservercdc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source"
)

// Inspect looks at one table: what of it is captured, and from when on its changes are there. SQL Server itself makes the index of a change table and
// keeps every before-image.
func (l *Layout) Inspect(ctx context.Context, t *source.Captured) (facts.ChangeTable, error) {
	p := readerOf(t).physical
	out := facts.ChangeTable{Captured: notCaptured(p.family, p.base)}
	if len(out.Captured) > 0 {
		out.Mend = []string{enableCall(p.family.base, nextInstance(p.family)) + ";"}
	}
	if p.parts[len(p.parts)-1].headers.command == nil {
		out.Missing = []facts.Header{{Name: "__$command_id", Why: "changes of one row in one transaction are ordered by __$seqval alone"}}
	}
	oldest, err := l.entryFrom(ctx, lowest(t), make(entries))
	if err == nil && oldest.at.HasContent() {
		out.Oldest = l.clock(oldest.at)
	}
	return out, err
}

func (l *Layout) clock(wall change.Value) time.Time {
	at := utc(l.options.Zone, wall)
	return time.Unix(at.Num, int64(at.Nanos)).UTC()
}

// Writer tells how far the capture job is, and what the clean-up keeps. What the login may not see is left open, with a remark.
func (l *Layout) Writer(ctx context.Context) (facts.Writer, error) {
	out := facts.Writer{Place: l.options.Schema + ".lsn_time_mapping"}
	if off, err := l.disabled(ctx); err != nil || off {
		out.Remarks = append(out.Remarks, facts.Remark{Check: "capture", Subject: "database", Bad: true, Seen: "change data capture is not enabled in this database",
			Do: "as a member of sysadmin enable it, then each table", SQL: []string{"EXEC sys.sp_cdc_enable_db;"}})
		return out, err
	}
	newest, err := l.newestEntry(ctx)
	if err != nil {
		return out, err
	}
	if newest.HasContent() {
		out.Tasks = []facts.TaskState{{Name: "capture job", Applied: l.clock(newest)}}
	}
	l.jobs(ctx, &out)
	return out, l.unseen(ctx, &out)
}

// disabled asks the server itself. A database that it does not list tells nothing.
func (l *Layout) disabled(ctx context.Context) (off bool, err error) {
	enabled := l.engine.Prepare("SELECT d.is_cdc_enabled FROM sys.databases d WHERE d.name = DB_NAME()", []change.Column{column("is_cdc_enabled", change.Bool)})
	err = source.EachRow(ctx, enabled, 1, func(row []change.Value) error {
		off = row[0].HasContent() && !row[0].Bool()
		return nil
	})
	if fault.ClassOf(err) == fault.Table {
		err = nil
	}
	return off, err
}

func (l *Layout) newestEntry(ctx context.Context) (at change.Value, err error) {
	mapping := l.engine.Table(change.TableID{Schema: l.options.Schema, Name: "lsn_time_mapping"})
	text := "SELECT m.tran_end_time FROM " + mapping + " m ORDER BY m.start_lsn DESC " + l.engine.Limit("1")
	err = source.EachRow(ctx, l.engine.Prepare(text, []change.Column{column("tran_end_time", change.DateTime)}), 1, func(row []change.Value) error {
		at = row[0]
		return nil
	})
	if fault.ClassOf(err) == fault.Table {
		err = fault.New(fault.Table, "read "+l.options.Schema+".lsn_time_mapping", err, "GRANT SELECT ON SCHEMA::"+l.options.Schema+" to the login")
	}
	return at, err
}

// jobs reads the jobs of change data capture, which live in msdb.
func (l *Layout) jobs(ctx context.Context, out *facts.Writer) {
	statement := l.engine.Prepare("SELECT j.job_type, j.retention FROM msdb.dbo.cdc_jobs j WHERE j.database_id = DB_ID()",
		[]change.Column{column("job_type", change.WString), column("retention", change.Int8)})
	found := map[string]bool{}
	err := source.EachRow(ctx, statement, 2, func(row []change.Value) error {
		job := strings.ToLower(string(row[0].Raw))
		found[job] = true
		if job == "cleanup" {
			out.Retention = time.Duration(row[1].Num) * time.Minute
		}
		return nil
	})
	switch {
	case err != nil:
		out.Remarks = append(out.Remarks, facts.Remark{Check: "capture", Subject: "jobs", Seen: "the jobs in msdb cannot be read, so that the retention is not known: " + err.Error(),
			Do: "have a member of db_owner look at them", SQL: []string{"EXEC sys.sp_cdc_help_jobs;"}})
	case !found["capture"]:
		out.Remarks = append(out.Remarks, facts.Remark{Check: "capture", Subject: "jobs", Bad: true, Seen: "the database has no capture job: changes are not captured",
			Do: "make the job; after a fail-over also on the new primary", SQL: []string{"EXEC sys.sp_cdc_add_job @job_type = N'capture';"}})
	}
}

// unseen remarks on capture instances whose base table is hidden from the login.
func (l *Layout) unseen(ctx context.Context, out *facts.Writer) error {
	all, err := l.bases(ctx)
	for _, i := range all {
		if i.base.Name != "" {
			continue
		}
		out.Remarks = append(out.Remarks, facts.Remark{Check: "capture", Subject: i.name, Seen: "the base table of this capture instance is hidden from the login: it is left out",
			Do: "grant SELECT or VIEW DEFINITION on the base table"})
	}
	return err
}

// Mend gives the SQL that has a table captured, or lets a login read what is captured of it.
func (l *Layout) Mend(ctx context.Context, table change.TableID, login string) []string {
	all, err := l.bases(ctx)
	if err != nil {
		return []string{"EXEC sys.sp_cdc_enable_db;", l.grantSchema(login)}
	}
	for _, i := range all {
		if i.base != table {
			continue
		}
		out := []string{l.grantSchema(login)}
		if i.role != "" {
			out = append(out, fmt.Sprintf("ALTER ROLE %s ADD MEMBER %s;", l.engine.Quote(i.role), l.engine.Quote(login)))
		}
		return out
	}
	return []string{enableCall(table, "") + ";"}
}

func (l *Layout) grantSchema(login string) string {
	return "GRANT SELECT ON SCHEMA::" + l.engine.Quote(l.options.Schema) + " TO " + l.engine.Quote(login) + ";"
}
