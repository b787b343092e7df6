// Package sqlservercdc is the layout of SQL Server's own change tables: cdc.<capture instance>_CT, filled by the capture job from the log.
//
// What it stands on, from the vendor's documentation:
//   - Rows are ordered by commit LSN, command id, sequence value and operation, in that order; none of them alone orders anything. Servers before the
//     updates of 2016 have no command id. All rows of one commit LSN are one transaction.
//   - The job writes change rows and cdc.lsn_time_mapping together, in commit order: everything at or below the newest LSN there is complete.
//   - A clean-up job removes old rows and raises start_lsn in cdc.change_tables to where the rest begins.
//   - A table has at most two capture instances. The structure of an instance never changes with its table's; a new instance has every change from
//     its start_lsn on.
//   - In __$update_mask the last byte holds the lowest column ordinals. Large values that an update has not touched come as NULL; text, ntext and image
//     come as NULL in every before-image and delete. Computed columns are always NULL.
//
// The functions sys.fn_cdc_get_max_lsn and fn_cdc_get_min_lsn read the tables named above; the layout reads these itself, with no right but SELECT on
// the schema cdc.
package sqlservercdc
