package sqlservercdc

import (
	"context"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// diagnosis are questions about a capture job that stands still. They take rights that reading does not (SELECT on msdb.dbo.cdc_jobs, VIEW DATABASE STATE); an
// answer that the login may not have is left out.
type diagnosis struct {
	jobs   source.Statement // number of capture jobs of this database: they live in msdb and do not move with it (case 28)
	errors source.Statement // the job's last error
}

func newDiagnosis(engine source.Engine) diagnosis {
	jobs := "SELECT COUNT(*) AS n FROM msdb.dbo.cdc_jobs j WHERE j.database_id = DB_ID() AND j.job_type = N'capture'"
	last := "SELECT CONVERT(nvarchar(30), e.entry_time, 121) AS entered, CAST(e.error_number AS bigint) AS number, CAST(e.error_message AS nvarchar(1024)) AS message " +
		"FROM sys.dm_cdc_errors e ORDER BY e.entry_time DESC " + engine.Limit("1")
	return diagnosis{
		jobs:   engine.Prepare(jobs, []change.Column{column("n", change.Int8)}),
		errors: engine.Prepare(last, []change.Column{column("entered", change.WString), column("number", change.Int8), column("message", change.WString)}),
	}
}

// why tells what the server says of its capture job, as far as the login may know; "" where that is nothing.
func (d *diagnosis) why(ctx context.Context) string {
	var out []string
	// What goes wrong here is no error: the job's own trouble is told without it.
	_ = source.EachRow(ctx, d.jobs, 1, func(row []change.Value) error {
		if row[0].Num == 0 {
			out = append(out, "this database has no capture job: EXEC sys.sp_cdc_add_job @job_type = N'capture'")
		}
		return nil
	})
	_ = source.EachRow(ctx, d.errors, 3, func(row []change.Value) error {
		number, _ := change.AppendText(nil, row[1], change.Type{Kind: change.Int8})
		out = append(out, "its last error, "+string(number)+" at "+string(row[0].Raw)+": "+string(row[2].Raw))
		return nil
	})
	return strings.Join(out, "; ")
}
