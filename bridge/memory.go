package bridge

import "context"

// keepMemory keeps what the source has learned while there was nothing to publish, such as how far tables without changes have been read.
func (r *Runner) keepMemory(ctx context.Context) error {
	if memory := r.source.Memory(); memory == nil || string(memory) == string(r.state.Layout) {
		return nil
	}
	return r.commit(ctx)
}
