package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// withParent ends ctx when "go run", which started us, goes away: it does not pass a SIGTERM on, and cannot pass a
// SIGKILL on. Any other parent may leave, as a shell does that put us in the background.
func withParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := func() { cancel(nil) }
	parent := os.Getppid()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return ctx, done
	}
	go func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if os.Getppid() != parent {
					cancel(errors.New("go run went away"))
				}
			}
		}
	}()
	return ctx, done
}
