package qlikct

import (
	"bytes"
	"log/slog"
	"math/big"
	"slices"
	"testing"

	"ctbridge/bridge/fault"
)

// What is taken for a change sequence orders rows as text and as a number alike, and is written again as it was.
func FuzzParseSequence(f *testing.F) {
	for _, seed := range []string{"20230911032325000000000000000000002", "00000101000000000000000000000000000", "99991231235959999999999999999999999", "20230231032325000000000000000000002",
		"２０２３0911032325", "", "2023091103232500000000000000000000-", "20230911032325000000000000000000002 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if checkSequence(text) != nil {
			if _, err := ParseSequence(text); err == nil {
				t.Fatalf("%q is taken apart although it cannot order rows", text)
			}
			return
		}
		if _, ok := new(big.Int).SetString(text, 10); !ok || len(text) != SequenceLength {
			t.Fatalf("%q is taken for a change sequence", text)
		}
		s, err := ParseSequence(text)
		if err != nil {
			return // a time that no calendar has
		}
		number, ok := new(big.Int).SetString(s.Number, 10)
		if !ok || !number.IsUint64() {
			return
		}
		if again := FormatSequence(s.Time, number.Uint64()); again != text {
			t.Errorf("%q comes back as %q", text, again)
		}
	})
}

// Any mask over any columns: the set of columns is that of the bits of one big number, or an error.
func FuzzDecodeMask(f *testing.F) {
	f.Add([]byte{0x80, 0x07}, []byte{0x7f}, uint8(17))
	f.Add([]byte{}, []byte{0xff}, uint8(0))
	f.Add(bytes.Repeat([]byte{0xff}, 140), []byte{}, uint8(255))
	f.Fuzz(func(t *testing.T, mask, kinds []byte, n uint8) {
		headers := make([]bool, n)
		for i := range headers {
			headers[i] = i/8 < len(kinds) && kinds[i/8]&(1<<(i%8)) != 0
		}
		for _, order := range []ByteOrder{OrderLSB, OrderMSB} {
			number := slices.Clone(mask)
			if order == OrderLSB {
				slices.Reverse(number)
			}
			bits := new(big.Int).SetBytes(number)
			legal := bits.BitLen() <= len(headers)
			for i, header := range headers {
				legal = legal && !(header && bits.Bit(i) == 1)
			}
			got, err := DecodeMask(mask, headers, order)
			if (err == nil) != legal {
				t.Fatalf("%s mask %x over %v: %v", order, mask, headers, err)
			}
			column := 0
			for i, header := range headers {
				if header {
					continue
				}
				if err == nil && got.Has(column) != (bits.Bit(i) == 1) {
					t.Errorf("%s mask %x: column %d of %v", order, mask, column, headers)
				}
				column++
			}
		}
		orderEvidence(mask, headers)
	})
}

// What a layout remembers comes out of the checkpoint as it went in, or is refused.
func FuzzRecall(f *testing.F) {
	for _, seed := range []string{"lsb", "msb", "", "auto", "LSB", `{"v":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, memory []byte) {
		l := New(nil, Options{}, slog.New(slog.DiscardHandler))
		err := l.Recall(memory)
		known := len(memory) == 0 || string(memory) == "lsb" || string(memory) == "msb"
		if known != (err == nil) || err != nil && (fault.ClassOf(err) != fault.Fatal || fault.HintOf(err) == "") || err == nil && string(l.Memory()) != string(memory) {
			t.Errorf("%q gives %v and %q", memory, err, l.Memory())
		}
	})
}
