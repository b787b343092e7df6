package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// file is a connection of our own, by the library that the driver wraps. The driver copies every text, boxes every value and takes a lock for
// each, which is half of what reading a page costs; here the decoders see the library's own memory. One goroutine uses it at a time.
type file struct {
	tls  *libc.TLS
	db   uintptr
	busy time.Duration // how long a lock of the writer is waited for
}

// openFlags are the driver's, without its lock around every call: a file has one user.
const openFlags = lib.SQLITE_OPEN_READWRITE | lib.SQLITE_OPEN_NOMUTEX | lib.SQLITE_OPEN_URI

func openFile(ctx context.Context, uri string, busy time.Duration) (*file, error) {
	f := &file{tls: libc.NewTLS(), busy: busy}
	name, err := libc.CString(uri)
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	defer libc.Xfree(f.tls, name)
	db := f.tls.Alloc(pointerSize)
	rc := lib.Xsqlite3_open_v2(f.tls, name, db, openFlags, 0)
	f.db = pointerAt(db)
	f.tls.Free(pointerSize)
	if rc != lib.SQLITE_OK {
		return nil, errors.Join(f.failure(rc), f.close())
	}
	lib.Xsqlite3_extended_result_codes(f.tls, f.db, 1)
	if err := f.prepareSession(ctx); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// session is how a connection is used: it never writes, whatever the URI says, and goes through pages once, so that a small cache (1,000 KiB) serves
// it better than a large one, which falls out of the processor's. Memory that is mapped (mmap_size) is no faster, and a file that somebody
// cuts would then end the process.
var session = []string{"PRAGMA query_only(1)", "PRAGMA cache_size(-1000)"}

func (f *file) prepareSession(ctx context.Context) error {
	for _, text := range session {
		stmt, err := f.prepare(ctx, text)
		if err != nil {
			return err
		}
		rc := lib.Xsqlite3_step(f.tls, stmt)
		if lib.Xsqlite3_finalize(f.tls, stmt); rc != lib.SQLITE_DONE && rc != lib.SQLITE_ROW {
			return f.failure(rc)
		}
	}
	return nil
}

// close gives everything back. Statements must have been finalized.
func (f *file) close() error {
	defer f.tls.Close()
	if f.db == 0 {
		return nil
	}
	if rc := lib.Xsqlite3_close_v2(f.tls, f.db); rc != lib.SQLITE_OK {
		return f.failure(rc)
	}
	return nil
}

// prepare compiles one statement, which is to be finalized.
func (f *file) prepare(ctx context.Context, text string) (uintptr, error) {
	sql, err := libc.CString(text)
	if err != nil {
		return 0, err
	}
	defer libc.Xfree(f.tls, sql)
	place := f.tls.Alloc(pointerSize)
	defer f.tls.Free(pointerSize)
	rc := f.patiently(ctx, func() int32 { return lib.Xsqlite3_prepare_v2(f.tls, f.db, sql, -1, place, 0) })
	if rc != lib.SQLITE_OK {
		return 0, f.failure(rc)
	}
	stmt := pointerAt(place)
	if stmt == 0 {
		return 0, errors.New("the statement is empty")
	}
	return stmt, nil
}

// The longest wait between two looks at a lock.
const longestWait = 100 * time.Millisecond

// patiently repeats what a writer's lock prevents, until the busy timeout or the context ends. A reader meets such a lock only before its first
// row, when nothing has been read yet. SQLite's own handler for this would not heed the context.
func (f *file) patiently(ctx context.Context, do func() int32) int32 {
	end := time.Now().Add(f.busy)
	for wait := time.Millisecond; ; wait = min(2*wait, longestWait) {
		rc := do()
		if rc&0xff != lib.SQLITE_BUSY && rc != lib.SQLITE_LOCKED_SHAREDCACHE || time.Now().After(end) {
			return rc
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return rc
		case <-timer.C:
		}
	}
}

// failure is a result code of the library with its text, as the driver writes it.
type failure struct {
	code int
	text string
}

func (e *failure) Error() string { return e.text }

// Code is SQLite's result code.
func (e *failure) Code() int { return e.code }

func (f *file) failure(rc int32) error {
	text := libc.GoString(lib.Xsqlite3_errstr(f.tls, rc))
	if f.db != 0 {
		if more := libc.GoString(lib.Xsqlite3_errmsg(f.tls, f.db)); more != text {
			text += ": " + more
		}
	}
	text = fmt.Sprintf("%s (%d)", text, rc)
	if rc == lib.SQLITE_BUSY {
		text += " (SQLITE_BUSY)"
	}
	return &failure{int(rc), text}
}

// pointer is an address of the library's memory, which Go's collector neither moves nor frees.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

const pointerSize = int(unsafe.Sizeof(uintptr(0)))

// pointerAt reads a pointer that the library has left in its memory.
func pointerAt(address uintptr) uintptr { return *(*uintptr)(pointer(address)) }

// files are the connections of one engine.
type files struct {
	uri  string
	busy time.Duration
	room chan struct{} // one for each that is in use

	mu     sync.Mutex
	idle   []*file
	closed bool
}

var errClosed = errors.New("the engine is closed")

// take gives a connection, an idle one if there is one.
func (p *files) take(ctx context.Context) (*file, error) {
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f, err := p.reuse()
	if f == nil && err == nil {
		f, err = openFile(ctx, p.uri, p.busy)
	}
	if err != nil {
		<-p.room
	}
	return f, err
}

func (p *files) reuse() (*file, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	n := len(p.idle)
	if n == 0 {
		return nil, nil
	}
	f := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return f, nil
}

// give takes a connection back; one that had an error is closed.
func (p *files) give(f *file, good bool) error {
	defer func() { <-p.room }()
	p.mu.Lock()
	keep := good && !p.closed
	if keep {
		p.idle = append(p.idle, f)
	}
	p.mu.Unlock()
	if keep {
		return nil
	}
	return f.close()
}

// close closes the idle ones; those in use are closed when they come back.
func (p *files) close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	var errs []error
	for _, f := range idle {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}
