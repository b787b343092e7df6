package bridge

import (
	"errors"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// requestLoad asks for a full load of a base table.
func (r *Runner) requestLoad(change.TableID, string) error {
	return fault.New(fault.Table, "", errors.New("full load is off"), "set source.on_reset: continue or fail")
}
