//go:build !unix

package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// lock is a file that exists while the checkpoint is in use. After a crash it has to be removed by hand.
type lock struct{ path string }

func acquire(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w, or it crashed and left %s behind", errLocked, path)
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(f, os.Getpid())
	return &lock{path}, f.Close()
}

func (l *lock) release() error { return os.Remove(l.path) }
