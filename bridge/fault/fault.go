// Package fault classifies errors where they are born: may it be tried again, does it stop one table or the task, and what should the
// operator do. Adapters map vendor codes to a class at their edge; the runner asks only for the class.
package fault

import (
	"errors"
	"strings"
)

// Class says what an error means for the task.
type Class uint8

// The classes. An error without a class counts as Retry: the cycle starts again from the checkpoint (I11).
const (
	Retry  Class = iota // passes by itself: connection lost, deadlock, broker away
	Table               // this table cannot go on until somebody mends something; the others can
	Poison              // this one record cannot be carried; stops its table unless the user chose otherwise (I3)
	Fatal               // the task cannot go on: fenced by another instance, wrong credentials, damaged checkpoint
	Config              // the configuration asks for something impossible
)

// String is the class as metrics label it.
func (c Class) String() string {
	return [...]string{"retry", "table", "poison", "fatal", "config"}[c]
}

// Error is an error with a class, the place it happened and a hint how to mend it. It never holds a secret.
type Error struct {
	Class Class
	Where string // what was being done, to what: "read shop.orders__ct", "publish to orders"
	Hint  string // what the operator can do; may be empty
	Err   error
}

// New builds a classified error.
func New(class Class, where string, err error, hint string) *Error {
	return &Error{Class: class, Where: where, Err: err, Hint: hint}
}

// Error joins where, cause and hint in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where)
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	if e.Hint != "" {
		b.WriteString(" (")
		b.WriteString(e.Hint)
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf gives the class of the outermost classified error in the chain, Retry if there is none.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Retry
}

// HintOf gives the first hint in the chain, "" if there is none.
func HintOf(err error) string {
	var e *Error
	for errors.As(err, &e) {
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
