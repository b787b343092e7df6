package servers

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

const supported = true

// attributes makes a child run as the named user ("" = as ourselves) and die by signal death when the thread that
// started it ends. Without root there is nobody else to run as, so the name is ignored.
func attributes(name string, death syscall.Signal) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: death}
	if name == "" || os.Getuid() != 0 {
		return attr, nil
	}
	uid, gid, err := lookup(name)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}

// detached puts a child in a session of its own, out of reach of the terminal's Ctrl-C.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// inherited is a file that our parent opened for us. Our own children must not get it: the parent waits for its end.
func inherited(fd int) *os.File {
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "inherited")
}

func lookup(name string) (uid, gid int, err error) {
	account, err := user.Lookup(name)
	if err != nil {
		return 0, 0, fmt.Errorf("the account the server runs as: %w", err)
	}
	if uid, err = strconv.Atoi(account.Uid); err != nil {
		return 0, 0, fmt.Errorf("account %s: %w", name, err)
	}
	if gid, err = strconv.Atoi(account.Gid); err != nil {
		return 0, 0, fmt.Errorf("account %s: %w", name, err)
	}
	return uid, gid, nil
}

// giveTo hands a folder to the account; without root it stays ours.
func giveTo(name, dir string) error {
	if name == "" || os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := lookup(name)
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}

// lock waits for the exclusive lock of a file; the lock ends with unlock or with the process.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}

// ownedByUs guards against a folder that another account planted in the shared temporary folder.
func ownedByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

const (
	sigPause  = syscall.SIGSTOP
	sigResume = syscall.SIGCONT
)
