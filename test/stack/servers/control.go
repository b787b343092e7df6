package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
)

// Verbs of the control socket. Each connection carries one request and one answer, both JSON.
const (
	verbStart   = "start"
	verbStop    = "stop"
	verbRestart = "restart"
	verbKill    = "kill"
	verbPause   = "pause"
	verbResume  = "resume"
	verbDown    = "down"
)

type request struct {
	Verb   string `json:"verb"`
	Server string `json:"server,omitempty"`
}

type answer struct {
	Error string `json:"error,omitempty"`
}

// serve answers clients until the listener closes.
func (k *keeper) serve(ctx context.Context) {
	for {
		conn, err := k.listener.Accept()
		if err != nil {
			k.over(err)
			return
		}
		go func() {
			defer conn.Close()
			var req request
			if json.NewDecoder(conn).Decode(&req) != nil {
				return
			}
			var reply answer
			if err := k.obey(ctx, req); err != nil {
				reply.Error = err.Error()
			}
			json.NewEncoder(conn).Encode(reply) // a client that left needs no answer
			if req.Verb == verbDown {
				k.over(errors.New("down"))
			}
		}()
	}
}

func (k *keeper) obey(ctx context.Context, req request) error {
	if req.Verb == verbDown {
		return nil
	}
	u, ok := k.units[req.Server]
	if !ok {
		return fmt.Errorf("server %q is not part of this stack; it has %v", req.Server, k.state.names())
	}
	switch req.Verb {
	case verbStart:
		return u.start(ctx)
	case verbStop:
		return u.stop()
	case verbRestart:
		return errors.Join(u.stop(), u.start(ctx))
	case verbKill:
		return u.crash()
	case verbPause:
		return u.pause()
	case verbResume:
		return u.resume()
	}
	return fmt.Errorf("unknown verb %q", req.Verb)
}

// call asks the keeper of a stack for one thing and waits until it is done or ctx ends.
func call(ctx context.Context, socket string, req request) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("the stack's keeper does not answer: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var reply answer
	if err = json.NewEncoder(conn).Encode(req); err == nil {
		err = json.NewDecoder(conn).Decode(&reply)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", req.Verb, req.Server, errors.Join(context.Cause(ctx), err))
	}
	if reply.Error != "" {
		return errors.New(reply.Error)
	}
	return nil
}
