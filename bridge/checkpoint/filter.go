package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"ctbridge/bridge/change"
)

// Filtered notes which row filter is in force for a table. What the look-back knows was published under the one before: with another it begins anew at
// the table's position, lest rows that were left out on purpose turn up as late ones. Only a digest of the predicate is kept.
func (t *Table) Filtered(predicate string, now time.Time) {
	digest := ""
	if predicate != "" {
		sum := sha256.Sum256([]byte(predicate))
		digest = hex.EncodeToString(sum[:8])
	}
	if t.Filter != digest {
		t.Filter, t.dirty = digest, true
		t.Window.Restart(t.Position)
	}
	if digest != "" && t.Position != "" {
		t.Window.Pass(t.Position, now) // what was passed before a restart is looked back at as long as what was published
	}
}

// Pass moves a table behind rows that were left out by its filter; newest is the newest row that was seen of it.
func (t *Table) Pass(p, newest change.Position, now time.Time) {
	t.Position = p
	t.Window.Pass(p, now)
	t.Seen, t.Purged = max(t.Seen, newest, p), false
}
