package bridge

import (
	"testing"
	"time"
)

// Pauses and the interval of rediscovery are spread by a tenth around their length.
func TestJitter(t *testing.T) {
	t.Parallel()
	seen := make(map[time.Duration]bool)
	for range 1000 {
		d := jitter(time.Minute)
		if d < 57*time.Second || d > 63*time.Second {
			t.Fatalf("%s is not within a twentieth of a minute", d)
		}
		seen[d] = true
	}
	if len(seen) < 900 {
		t.Errorf("%d different pauses of 1000", len(seen))
	}
}
