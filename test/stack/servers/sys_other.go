//go:build !linux

package servers

import (
	"os"
	"syscall"
)

const supported = false

// These stand in for sys_linux.go so that the module builds everywhere; Launch and Open refuse before they are used.

func attributes(string, syscall.Signal) (*syscall.SysProcAttr, error) { return nil, ErrUnsupported }

func detached() *syscall.SysProcAttr { return nil }

func inherited(int) *os.File { return nil }

func giveTo(string, string) error { return ErrUnsupported }

func lock(string) (func(), error) { return nil, ErrUnsupported }

func ownedByUs(os.FileInfo) bool { return false }

const (
	sigPause  = syscall.SIGKILL
	sigResume = syscall.SIGKILL
)
