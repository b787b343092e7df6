package lz4

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	library "github.com/pierrec/lz4/v4"
	"pgregory.net/rapid"
)

// tester is what tests, benchmarks and properties have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// read decompresses a frame with the library.
func read(t tester, frame []byte) []byte {
	t.Helper()
	out, err := io.ReadAll(library.NewReader(bytes.NewReader(frame)))
	if err != nil {
		t.Fatalf("%v in a frame of %d bytes", err, len(frame))
	}
	return out
}

// check compresses, reads it back, and looks at the rules of the block format.
func check(t tester, e *Encoder, src []byte) []byte {
	t.Helper()
	frame := e.AppendFrame([]byte("before"), src)
	if string(frame[:6]) != "before" {
		t.Fatal("what was there before is gone")
	}
	frame = frame[6:]
	if got := read(t, frame); !bytes.Equal(got, src) {
		t.Fatalf("%d bytes come back as %d others", len(src), len(got))
	}
	checkBlocks(t, frame, len(src))
	return frame
}

// checkBlocks looks for what a lenient reader lets pass: the last five bytes are literals, the last match begins twelve bytes before the end at least.
func checkBlocks(t tester, frame []byte, left int) {
	t.Helper()
	for in := frame[len(header):]; left > 0; {
		size := binary.LittleEndian.Uint32(in)
		block := in[4 : 4+size&^stored]
		in = in[4+len(block):]
		n := min(left, blockSize)
		left -= n
		if size&stored != 0 {
			if len(block) != n {
				t.Fatalf("a stored block of %d bytes has %d", n, len(block))
			}
			continue
		}
		if len(block) >= n {
			t.Fatalf("a compressed block of %d bytes has %d", n, len(block))
		}
		lastLiterals, lastMatch := walk(t, block)
		if lastMatch >= 0 && (lastLiterals < lastBytes || lastMatch > n-noMatch) {
			t.Fatalf("block of %d: %d literals at the end, last match at %d", n, lastLiterals, lastMatch)
		}
	}
}

// walk goes through the sequences of a block; lastMatch is -1 without any.
func walk(t tester, block []byte) (lastLiterals, lastMatch int) {
	t.Helper()
	length := func(four byte) int {
		n := int(four)
		for more := four == 15; more; {
			n += int(block[0])
			more = block[0] == 255
			block = block[1:]
		}
		return n
	}
	lastMatch = -1
	for at := 0; ; {
		token := block[0]
		block = block[1:]
		literals := length(token >> 4)
		block = block[literals:]
		at += literals
		if len(block) == 0 {
			return literals, lastMatch
		}
		if back := int(binary.LittleEndian.Uint16(block)); back == 0 || back > at {
			t.Fatalf("a match %d back at %d", back, at)
		}
		block = block[2:]
		lastMatch = at
		at += leastMatch + length(token&15)
	}
}

// The header is that of the library for the same options.
func TestHeader(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := library.NewWriter(&out)
	if err := w.Apply(library.BlockSizeOption(library.Block64Kb), library.ChecksumOption(false)); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("x"))
	w.Close()
	if !bytes.Equal(out.Bytes()[:len(header)], header[:]) {
		t.Errorf("header % x, the library's % x", header, out.Bytes()[:len(header)])
	}
}

// Sizes around every edge, of bytes that repeat much, little and not at all.
func TestSizes(t *testing.T) {
	t.Parallel()
	random := make([]byte, 3*blockSize)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(random)
	few := make([]byte, len(random))
	for i, b := range random {
		few[i] = b & 1
	}
	var sizes []int
	for _, edge := range []int{0, leastMatch, lastBytes, noMatch, 16, 32, 255 + 15, 2*255 + 15, blockSize, 2 * blockSize} {
		for n := max(edge-3, 0); n <= edge+3; n++ {
			sizes = append(sizes, n)
		}
	}
	var e Encoder // used again: what one block leaves must not show in the next
	for _, kind := range [][]byte{make([]byte, len(random)), few, random, bytes.Repeat([]byte("abcdefg"), blockSize)} {
		for _, n := range sizes {
			check(t, &e, kind[:n])
			check(t, &e, append(slices.Clone(random[:n]), random[:n]...))
			check(t, &e, slices.Concat(kind[:n], random[:40], kind[:n], kind[:12]))
		}
	}
}

// What is made of pieces seen before comes back, and an encoder gives the same each time.
func TestProperty(t *testing.T) {
	t.Parallel()
	var used Encoder
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "begin")
		for range rapid.IntRange(0, 60).Draw(t, "pieces") {
			if len(src) > 0 && rapid.Bool().Draw(t, "again") {
				from := rapid.IntRange(0, len(src)-1).Draw(t, "from")
				for range rapid.SampledFrom([]int{1, 4, 15, 18, 19, 20, 300, 5000}).Draw(t, "length") {
					src = append(src, src[from])
					from++
				}
			} else {
				src = append(src, rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "new")...)
			}
		}
		var fresh Encoder
		if a, b := check(t, &used, src), check(t, &fresh, src); !bytes.Equal(a, b) {
			t.Fatal("what was compressed before shows")
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("hello, hello, hello, hello, hello, hello"))
	f.Add(bytes.Repeat([]byte{0}, 70_000))
	f.Fuzz(func(t *testing.T, src []byte) {
		var e Encoder
		check(t, &e, src)
		check(t, &e, bytes.Repeat(src, 1+70_000/(len(src)+1))) // over the edge of a block
	})
}

// text is like the records of a table.
func text(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []byte
	for len(out) < n {
		out = fmt.Appendf(out, `{"id":%d,"customer":%d,"status":"%s","amount":"%d.%02d","note":"%x"}`,
			rng.Uint32(), rng.Uint32N(10_000), []string{"open", "shipped", "delivered"}[rng.IntN(3)], rng.Uint32N(5000), rng.Uint32N(100), rng.Uint64())
	}
	return out[:n]
}

// Text becomes about as small as with the library.
func TestRatio(t *testing.T) {
	t.Parallel()
	var e Encoder
	src := text(4 * blockSize)
	ours, theirs := len(check(t, &e, src)), len(libraryFrame(t, src))
	t.Logf("%d bytes: %d, the library %d", len(src), ours, theirs)
	if ours > theirs*11/10 {
		t.Errorf("%d bytes, the library needs %d", ours, theirs)
	}
}

func libraryFrame(t testing.TB, src []byte) []byte {
	var out bytes.Buffer
	w := library.NewWriter(&out)
	if err := w.Apply(library.BlockSizeOption(library.Block64Kb)); err != nil {
		t.Fatal(err)
	}
	w.Write(src)
	w.Close()
	return out.Bytes()
}

func BenchmarkFrame(b *testing.B) {
	src := text(4 * blockSize)
	b.Run("ours", func(b *testing.B) {
		var e Encoder
		var out []byte
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			out = e.AppendFrame(out[:0], src)
		}
	})
	b.Run("library", func(b *testing.B) {
		w := library.NewWriter(nil)
		if err := w.Apply(library.BlockSizeOption(library.Block64Kb)); err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			out.Reset()
			w.Reset(&out)
			w.Write(src)
			w.Close()
		}
	})
}
