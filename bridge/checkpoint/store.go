package checkpoint

import "context"

// Entry is one keyed piece of the checkpoint. A nil Value deletes the key.
type Entry struct {
	Key   string
	Value []byte
}

// Store keeps entries durably. Save is atomic over all its entries (I5): after a crash either all or none are seen.
type Store interface {
	Load(ctx context.Context) (map[string][]byte, error)
	Save(ctx context.Context, entries []Entry) error
	Close() error
}
