package enginetest

import "testing"

func checkNetwork(t *testing.T, h Harness) {
	if h.Server == nil {
		t.Skip("the product is embedded")
	}
}
