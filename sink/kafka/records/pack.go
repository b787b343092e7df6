package records

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	snappy "github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
	library "github.com/pierrec/lz4/v4"

	"ctbridge/sink/kafka/lz4"
)

// Packer compresses the records of batches. It is not for concurrent use, and what Pack returns is overwritten by the next call.
type Packer struct {
	codec string
	out   []byte
	lz4   *lz4.Encoder
	gzip  *gzip.Writer
	zstd  *zstd.Encoder
}

// NewPacker gives a packer for a codec: none, gzip, snappy, lz4 or zstd.
func NewPacker(codec string) *Packer { return &Packer{codec: codec} }

// Pack compresses records; with the codec none it returns them as they are.
func (p *Packer) Pack(raw []byte) (_ []byte, err error) {
	switch p.codec {
	case "none":
		return raw, nil
	case "lz4":
		p.out = p.pressed(raw)
	case "snappy":
		p.out = snappy.Encode(p.out[:0], raw)
	case "gzip":
		p.out, err = p.zipped(raw)
	case "zstd":
		p.out, err = p.squeezed(raw)
	default:
		err = unknown(p.codec)
	}
	return p.out, err
}

func unknown(codec string) error { return fmt.Errorf("compression %q is not known", codec) }

func (p *Packer) pressed(raw []byte) []byte {
	if p.lz4 == nil {
		p.lz4 = new(lz4.Encoder)
	}
	return p.lz4.AppendFrame(p.out[:0], raw)
}

func (p *Packer) squeezed(raw []byte) (_ []byte, err error) {
	if p.zstd == nil {
		if p.zstd, err = zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, err
		}
	}
	return p.zstd.EncodeAll(raw, p.out[:0]), nil
}

func (p *Packer) zipped(raw []byte) ([]byte, error) {
	out := bytes.NewBuffer(p.out[:0])
	if p.gzip == nil {
		p.gzip = gzip.NewWriter(out)
	} else {
		p.gzip.Reset(out)
	}
	if _, err := p.gzip.Write(raw); err != nil {
		return nil, err
	}
	err := p.gzip.Close()
	return out.Bytes(), err
}

// Unpack gives the records that Pack has compressed.
func Unpack(codec string, packed []byte) ([]byte, error) {
	var from io.Reader
	switch codec {
	case "none":
		return packed, nil
	case "snappy":
		return snappy.Decode(packed)
	case "lz4":
		from = library.NewReader(bytes.NewReader(packed))
	case "gzip":
		unzipped, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		from = unzipped
	case "zstd":
		decoder, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer decoder.Close()
		from = decoder
	default:
		return nil, unknown(codec)
	}
	return io.ReadAll(from)
}
