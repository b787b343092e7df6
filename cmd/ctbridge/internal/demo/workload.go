package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// workload is the shop's business: small transactions of every kind that the bridge has to carry.
type workload struct {
	random *rand.Rand
	names  int // given so far
}

func newWorkload(seed uint64) *workload { return &workload{random: rand.New(rand.NewPCG(seed, seed))} }

var (
	people   = []string{"Ada Lovelace", "Alan Turing", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov", "Niklaus Wirth", "Åsa Öberg", "Jürgen Groß", "Łucja Żak"}
	products = []string{"tea pot", "garden chair", "blue lamp", "box of chalk", "wool blanket", "desk clock", "brass bell"}
	notes    = []string{"leave at the door", "ring twice", "call before delivery", "gift wrap, please"}
)

// firstCustomers is how many there are in the beginning.
const firstCustomers = 3

// open brings the first customers; in a shop that is kept from an earlier demo they are there.
func (w *workload) open(ctx context.Context, tx *sql.Tx) error {
	var customers int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM customers").Scan(&customers); err != nil {
		return err
	}
	for ; customers < firstCustomers; customers++ {
		if err := w.newCustomer(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// business is one kind of transaction; weight is how often it happens.
type business struct {
	weight int
	do     func(w *workload, ctx context.Context, tx *sql.Tx) error
}

func businesses() []business {
	return []business{
		{5, (*workload).placeOrder}, {6, (*workload).moveOrder}, {4, (*workload).editCustomer}, {3, (*workload).changeLine},
		{2, (*workload).cancelOrder}, {1, (*workload).newCustomer}, {1, (*workload).renumber}, {1, (*workload).touch},
	}
}

// next does any of them.
func (w *workload) next(ctx context.Context, tx *sql.Tx) error {
	all, total := businesses(), 0
	for _, b := range all {
		total += b.weight
	}
	n := w.random.IntN(total)
	for _, b := range all {
		if n -= b.weight; n < 0 {
			return b.do(w, ctx, tx)
		}
	}
	return nil
}

// execute runs one statement.
func execute(ctx context.Context, tx *sql.Tx, text string, args ...any) error {
	_, err := tx.ExecContext(ctx, text, args...)
	return err
}

// anyOf picks one of the newest rows of a table; the table stays small enough to be read by people. 0 = there is none.
func anyOf(ctx context.Context, tx *sql.Tx, table, where string) (id int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT id FROM (SELECT id FROM "+table+" WHERE "+where+" ORDER BY id DESC LIMIT 20) ORDER BY random() LIMIT 1").Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}

func (w *workload) pick(from []string) string { return from[w.random.IntN(len(from))] }

// maybe is the text, or NULL.
func (w *workload) maybe(text string) any {
	if w.random.IntN(3) == 0 {
		return nil
	}
	return text
}

func (w *workload) newCustomer(ctx context.Context, tx *sql.Tx) error {
	name := people[w.names%len(people)]
	w.names++
	born := time.Date(1940+w.random.IntN(60), time.Month(1+w.random.IntN(12)), 1+w.random.IntN(28), 0, 0, 0, 0, time.UTC)
	return execute(ctx, tx, "INSERT INTO customers (name, email, born, credit, since) VALUES (?, ?, ?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now'))",
		name, w.maybe(fmt.Sprintf("user%d@example.com", w.random.IntN(1000))), w.maybe(born.Format(time.DateOnly)), w.random.IntN(50)*10)
}

func (w *workload) placeOrder(ctx context.Context, tx *sql.Tx) error {
	customer, err := anyOf(ctx, tx, "customers", "active")
	if err != nil || customer == 0 {
		return err
	}
	r, err := tx.ExecContext(ctx, "INSERT INTO orders (customer_id, total, gift, placed_at, note) VALUES (?, 0, ?, strftime('%Y-%m-%d %H:%M:%f', 'now'), ?)",
		customer, w.random.IntN(4) == 0, w.maybe(w.pick(notes)))
	if err != nil {
		return err
	}
	order, err := r.LastInsertId()
	if err != nil {
		return err
	}
	for line := range 1 + w.random.IntN(3) {
		if err := execute(ctx, tx, "INSERT INTO order_lines VALUES (?, ?, ?, ?, ?)", order, line+1, w.pick(products), 1+w.random.IntN(4), w.price()); err != nil {
			return err
		}
	}
	return w.sumUp(ctx, tx, order)
}

// price is text, so that no float is rounded on its way to the database.
func (w *workload) price() string {
	return fmt.Sprintf("%d.%02d", 1+w.random.IntN(80), w.random.IntN(100))
}

func (w *workload) sumUp(ctx context.Context, tx *sql.Tx, order int64) error {
	return execute(ctx, tx, "UPDATE orders SET total = (SELECT round(sum(quantity * price), 2) FROM order_lines WHERE order_id = orders.id) WHERE id = ?", order)
}

func (w *workload) moveOrder(ctx context.Context, tx *sql.Tx) error {
	order, err := anyOf(ctx, tx, "orders", "status <> 'shipped'")
	if err != nil || order == 0 {
		return err
	}
	return execute(ctx, tx, `UPDATE orders SET
		shipped_on = CASE status WHEN 'paid' THEN date('now') END,
		status = CASE status WHEN 'paid' THEN 'shipped' ELSE 'paid' END WHERE id = ?`, order)
}

func (w *workload) editCustomer(ctx context.Context, tx *sql.Tx) error {
	customer, err := anyOf(ctx, tx, "customers", "1")
	if err != nil || customer == 0 {
		return err
	}
	switch w.random.IntN(4) {
	case 0:
		return execute(ctx, tx, "UPDATE customers SET active = NOT active WHERE id = ? AND (NOT active OR (SELECT count(*) FROM customers WHERE active) > 2)", customer)
	case 1:
		return execute(ctx, tx, "UPDATE customers SET email = ? WHERE id = ?", w.maybe(fmt.Sprintf("new%d@example.com", w.random.IntN(1000))), customer)
	}
	return execute(ctx, tx, "UPDATE customers SET credit = round(credit + ?, 2) WHERE id = ?", w.random.IntN(2000)-900, customer)
}

func (w *workload) changeLine(ctx context.Context, tx *sql.Tx) error {
	order, err := anyOf(ctx, tx, "orders", "status = 'new'")
	if err != nil || order == 0 {
		return err
	}
	if err := execute(ctx, tx, "UPDATE order_lines SET quantity = quantity % 4 + 1 WHERE order_id = ? AND line = 1", order); err != nil {
		return err
	}
	return w.sumUp(ctx, tx, order)
}

// renumber changes a key.
func (w *workload) renumber(ctx context.Context, tx *sql.Tx) error {
	return execute(ctx, tx, `UPDATE order_lines SET line = line + 10 WHERE rowid =
		(SELECT rowid FROM order_lines WHERE line < 10 AND line > 1 ORDER BY rowid DESC LIMIT 1)`)
}

func (w *workload) cancelOrder(ctx context.Context, tx *sql.Tx) error {
	order, err := anyOf(ctx, tx, "orders", "1")
	if err != nil || order == 0 {
		return err
	}
	if err := execute(ctx, tx, "DELETE FROM order_lines WHERE order_id = ?", order); err != nil {
		return err
	}
	return execute(ctx, tx, "DELETE FROM orders WHERE id = ?", order)
}

// touch changes nothing: no message may come of it.
func (w *workload) touch(ctx context.Context, tx *sql.Tx) error {
	return execute(ctx, tx, "UPDATE customers SET name = name, credit = credit")
}
