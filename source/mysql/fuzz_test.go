package mysql

import (
	"testing"

	"ctbridge/source/enginetest"
)

func FuzzDecoders(f *testing.F) { enginetest.FuzzDecoders(f, decoder) }
