package qlikct

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// Layout reads Qlik change tables through an engine.
type Layout struct {
	engine   source.Engine
	options  Options
	log      *slog.Logger
	order    atomic.Value // ByteOrder decided so far; "" while undecided
	votes    atomic.Int64 // masks that can only be msb minus masks that can only be lsb
	control  controlTables
	detected source.Detection
}

var (
	_ source.Layout     = (*Layout)(nil)
	_ source.Rememberer = (*Layout)(nil)
	_ source.Clocked    = (*Layout)(nil)
)

// New builds the layout. It does not talk to the database.
func New(engine source.Engine, options Options, log *slog.Logger) *Layout {
	l := &Layout{engine: engine, options: options.withDefaults(), log: log}
	l.order.Store(ByteOrder(""))
	if l.options.MaskOrder != OrderAuto {
		l.order.Store(l.options.MaskOrder)
	}
	return l
}

// MaskOrder is the byte order of change masks: set, or decided from the data; "" while undecided (the documented order is used then).
func (l *Layout) MaskOrder() ByteOrder { return l.order.Load().(ByteOrder) }

// masksToDecide is how many masks more must speak for one byte order than for the other: one broken mask decides nothing.
const masksToDecide = 2

// vote counts what one mask says and decides once enough agree.
func (l *Layout) vote(order ByteOrder, where string) {
	votes := l.votes.Add(map[ByteOrder]int64{OrderMSB: 1, OrderLSB: -1}[order])
	if votes < masksToDecide && votes > -masksToDecide {
		return
	}
	l.order.Store(order)
	l.log.Info("byte order of change masks decided from the data", "order", string(order), "table", where)
}

// effectiveOrder is the byte order to decode with: the decided one, else what most masks say so far, else the documented one.
func (l *Layout) effectiveOrder() ByteOrder {
	if order := l.MaskOrder(); order != "" {
		return order
	}
	if l.votes.Load() > 0 {
		return OrderMSB
	}
	return OrderLSB
}

// Memory keeps a byte order that the data decided.
func (l *Layout) Memory() []byte {
	if l.options.MaskOrder != OrderAuto || l.MaskOrder() == "" {
		return nil
	}
	return []byte(l.MaskOrder())
}

// Recall takes back what Memory gave. An explicit setting wins over it.
func (l *Layout) Recall(memory []byte) error {
	order := ByteOrder(memory)
	switch {
	case len(memory) == 0:
	case order != OrderLSB && order != OrderMSB:
		return fault.New(fault.Fatal, `checkpoint record "layout"`, fmt.Errorf("%.40q is no byte order of masks", memory),
			"restore the checkpoint from a copy, or delete the record: the order is found out again; a task that had another layout needs a new name")
	case l.options.MaskOrder == OrderAuto:
		l.order.Store(order)
	}
	return nil
}
