package bridge

import (
	"context"
	"encoding/json"
	"time"

	"ctbridge/bridge/change"
)

// marker is a message on the metadata topic that tells of something which data messages cannot say. It is JSON with the members of the
// metadata messages around it, keyed by table; consumers tell it by its type.
type marker struct {
	Magic   string        `json:"magic"` // "atMSG"
	Type    string        `json:"type"`  // "GAP" or "TRUNCATE"
	Headers any           `json:"headers"`
	ID      any           `json:"messageSchemaId"`
	Schema  any           `json:"messageSchema"`
	Message markerMessage `json:"message"`
}

type markerMessage struct {
	Task      string `json:"task"`
	Schema    string `json:"schema"`
	Table     string `json:"table"`
	Timestamp string `json:"timestamp"` // milliseconds, UTC: of the truncation, or when the gap was found

	// TRUNCATE
	ChangeSequence string `json:"changeSequence,omitempty"`
	TransactionID  string `json:"transactionId,omitempty"`

	// GAP: positions above from, up to to
	Reason string  `json:"reason,omitempty"`
	From   *string `json:"from,omitempty"`
	To     *string `json:"to,omitempty"`
}

const markerTime = "2006-01-02T15:04:05.000"

func (r *Runner) newMarker(kind string, id change.TableID, at time.Time) *marker {
	return &marker{Magic: "atMSG", Type: kind, Message: markerMessage{Task: r.options.Task, Schema: id.Schema, Table: id.Name, Timestamp: at.UTC().Format(markerTime)}}
}

func (r *Runner) truncateMarker(ev *change.Event) *marker {
	at := r.options.Now()
	if ev.Timestamp.Kind == change.KindInstant {
		at = time.Unix(ev.Timestamp.Num, int64(ev.Timestamp.Nanos))
	}
	m := r.newMarker("TRUNCATE", ev.Table.ID, at)
	m.Message.ChangeSequence, m.Message.TransactionID = string(ev.Position), string(ev.TransactionID)
	return m
}

func (r *Runner) gapMarker(id change.TableID, gap Gap) *marker {
	m := r.newMarker("GAP", id, r.options.Now())
	from, to := string(gap.From), string(gap.To)
	m.Message.Reason, m.Message.From, m.Message.To = gap.Reason, &from, &to
	return m
}

// mark publishes a marker on every metadata topic, with the records of the same commit.
func (r *Runner) mark(ctx context.Context, id change.TableID, m *marker) error {
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	for i := range r.options.Outputs {
		record := change.Record{Table: id, Topic: r.options.Outputs[i].MetadataTopic, Key: []byte(id.String()), Value: value}
		if record.Topic == "" {
			continue
		}
		if err := r.send(ctx, &record); err != nil {
			return r.tableFault(StagePublish, err)
		}
	}
	return nil
}
