package qlikct

import (
	"log/slog"
	"sync/atomic"

	"ctbridge/source"
)

// Layout reads Qlik change tables through an engine.
type Layout struct {
	engine   source.Engine
	options  Options
	log      *slog.Logger
	order    atomic.Value // ByteOrder decided so far; "" while undecided
	control  controlTables
	detected detection
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

func (l *Layout) decide(order ByteOrder, where string) {
	l.order.Store(order)
	l.log.Info("byte order of change masks decided from the data", "order", string(order), "table", where)
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
	if l.options.MaskOrder == OrderAuto && (order == OrderLSB || order == OrderMSB) {
		l.order.Store(order)
	}
	return nil
}
