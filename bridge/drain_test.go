package bridge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A shard that is taken away drains within the time that is given for it; a shutdown takes its own.
func TestDrainTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause error
		want  time.Duration
	}{
		"shutdown":                   {context.Canceled, time.Minute},
		"revoked":                    {&RevokedError{Within: 6 * time.Second}, 6 * time.Second},
		"revoked, shutdown is quick": {&RevokedError{Within: time.Hour}, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			work, end := graceful(ctx, time.Minute)
			defer end()
			cancel(c.cause)
			begin := time.Now()
			<-work.Done()
			if took := time.Since(begin); took != c.want {
				t.Errorf("%s: the work ended after %v, want %v", name, took, c.want)
			}
		})
	}
}
