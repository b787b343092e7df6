//go:build unix

package file

import (
	"errors"
	"os"
	"syscall"
)

// lock is an advisory lock that ends with the process, however it ends.
type lock struct{ file *os.File }

func acquire(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	return &lock{f}, nil
}

func (l *lock) release() error { return l.file.Close() }
