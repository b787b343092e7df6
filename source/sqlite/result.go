package sqlite

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"ctbridge/source/sqldb"
)

// result reads the rows of one statement.
type result struct {
	files *files
	file  *file // nil once closed
	stmt  uintptr
	ctx   context.Context
	width int

	stepped bool  // the first row has been searched for, and Next has not told of it yet
	rc      int32 // of the last step
	bad     bool  // the connection is not to be used again

	unwatch func() bool
	ended   atomic.Bool   // by the context
	quit    chan struct{} // ends the interruption
	silent  chan struct{} // closed when it has ended

	out box
}

var _ sqldb.Result = (*result)(nil)

// query runs a statement up to its first row.
func (p *files) query(ctx context.Context, text string, args []any) (sqldb.Result, error) {
	f, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	r := &result{files: p, file: f, ctx: ctx}
	r.out.init()
	r.watch()
	if err := r.start(text, args); err != nil {
		r.bad = true
		_ = r.Close() // the error says more
		return nil, err
	}
	return r, nil
}

func (r *result) start(text string, args []any) (err error) {
	f := r.file
	if r.stmt, err = f.prepare(r.ctx, text); err != nil {
		return err
	}
	if err := r.bind(args); err != nil {
		return err
	}
	r.width = int(lib.Xsqlite3_column_count(f.tls, r.stmt))
	r.rc = f.patiently(r.ctx, func() int32 {
		lib.Xsqlite3_reset(f.tls, r.stmt)
		return lib.Xsqlite3_step(f.tls, r.stmt)
	})
	r.stepped = true
	return r.check()
}

// check tells an end or a row from a failure.
func (r *result) check() error {
	switch {
	case r.ended.Load():
		return r.ctx.Err()
	case r.rc != lib.SQLITE_ROW && r.rc != lib.SQLITE_DONE:
		return r.file.failure(r.rc)
	}
	return nil
}

func (r *result) bind(args []any) error {
	n := int(lib.Xsqlite3_bind_parameter_count(r.file.tls, r.stmt))
	if n > len(args) {
		return fmt.Errorf("%d arguments for %d parameters", len(args), n)
	}
	for i, arg := range args[:n] {
		if rc := r.bindOne(int32(i+1), arg); rc != lib.SQLITE_OK {
			return r.file.failure(rc)
		}
	}
	return nil
}

// bindOne binds an argument; the library keeps a copy of its own.
func (r *result) bindOne(n int32, arg any) int32 {
	const transient = ^uintptr(0)
	tls := r.file.tls
	switch v := arg.(type) {
	case int64:
		return lib.Xsqlite3_bind_int64(tls, r.stmt, n, v)
	case string:
		return withBytes(tls, v, func(p uintptr) int32 {
			return lib.Xsqlite3_bind_text(tls, r.stmt, n, p, int32(len(v)), transient)
		})
	case []byte:
		if v == nil {
			return lib.Xsqlite3_bind_null(tls, r.stmt, n)
		}
		return withBytes(tls, string(v), func(p uintptr) int32 {
			return lib.Xsqlite3_bind_blob(tls, r.stmt, n, p, int32(len(v)), transient)
		})
	}
	return lib.SQLITE_MISMATCH
}

func withBytes(tls *libc.TLS, s string, use func(uintptr) int32) int32 {
	p, err := libc.CString(s)
	if err != nil {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(tls, p)
	return use(p)
}

// watch interrupts the library when the context ends. SQLite forgets an interruption that comes before a statement starts: it is repeated
// until the reader is out.
func (r *result) watch() {
	r.quit, r.silent = make(chan struct{}), make(chan struct{})
	db := r.file.db
	r.unwatch = context.AfterFunc(r.ctx, func() {
		defer close(r.silent)
		r.ended.Store(true)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			lib.Xsqlite3_interrupt(nil, db) // one atomic store, in any goroutine
			select {
			case <-r.quit:
				return
			case <-tick.C:
			}
		}
	})
}

// Width is how many columns it has.
func (r *result) Width() int { return r.width }

// Next moves to the next row.
func (r *result) Next() error {
	if r.file == nil {
		return io.EOF
	}
	if !r.stepped {
		r.rc = lib.Xsqlite3_step(r.file.tls, r.stmt)
	}
	r.stepped = false
	if err := r.check(); err != nil {
		r.bad = true
		return err
	}
	if r.rc == lib.SQLITE_DONE {
		return io.EOF
	}
	return nil
}

// Value is a value as it is stored: int64, float64, string for text, []byte for a blob.
func (r *result) Value(i int) (any, error) {
	tls := r.file.tls
	v := lib.Xsqlite3_column_value(tls, r.stmt, int32(i))
	switch lib.Xsqlite3_value_type(tls, v) {
	case lib.SQLITE_INTEGER:
		return r.out.integer(lib.Xsqlite3_value_int64(tls, v)), nil
	case lib.SQLITE_FLOAT:
		return r.out.float(lib.Xsqlite3_value_double(tls, v)), nil
	case lib.SQLITE_TEXT:
		p := lib.Xsqlite3_value_text(tls, v) // first: it may convert from UTF-16
		if p == 0 {
			r.bad = true
			return nil, r.file.failure(lib.SQLITE_NOMEM)
		}
		return r.out.text(p, int(lib.Xsqlite3_value_bytes(tls, v))), nil
	case lib.SQLITE_BLOB:
		p := lib.Xsqlite3_value_blob(tls, v)
		return r.out.blob(p, int(lib.Xsqlite3_value_bytes(tls, v))), nil
	}
	return nil, nil
}

// Close ends the statement, and with it the snapshot, and gives the connection back.
func (r *result) Close() error {
	f := r.file
	if f == nil {
		return nil
	}
	r.file = nil
	if !r.unwatch() {
		close(r.quit)
		<-r.silent // interrupts no other statement, and no connection that is closed
		r.bad = true
	}
	lib.Xsqlite3_finalize(f.tls, r.stmt) // its code is that of the last step, which has been told
	return r.files.give(f, !r.bad)
}

// box makes interface values of the library's values without allocating: each kind has one, whose content is the box's field. A decoder keeps
// neither (sqldb.Decode).
type box struct {
	fields struct {
		integer int64
		float   float64
		text    string
		blob    []byte
	}
	anyInteger, anyFloat, anyText, anyBlob any
}

func (b *box) init() {
	b.anyInteger, b.anyFloat, b.anyText, b.anyBlob = int64(0), float64(0), "", []byte{}
	aim(&b.anyInteger, unsafe.Pointer(&b.fields.integer))
	aim(&b.anyFloat, unsafe.Pointer(&b.fields.float))
	aim(&b.anyText, unsafe.Pointer(&b.fields.text))
	aim(&b.anyBlob, unsafe.Pointer(&b.fields.blob))
}

// aim lets an interface value's second word, which points to its content, point elsewhere.
func aim(v *any, content unsafe.Pointer) { (*[2]unsafe.Pointer)(unsafe.Pointer(v))[1] = content }

func (b *box) integer(v int64) any {
	b.fields.integer = v
	return b.anyInteger
}

func (b *box) float(v float64) any {
	b.fields.float = v
	return b.anyFloat
}

func (b *box) text(p uintptr, n int) any {
	b.fields.text = unsafe.String((*byte)(pointer(p)), n)
	return b.anyText
}

func (b *box) blob(p uintptr, n int) any {
	b.fields.blob = unsafe.Slice((*byte)(pointer(p)), n)
	return b.anyBlob
}
