package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

// reader reads one partition in order, committed records only, and always knows its position: also where the log ends with markers of
// transactions, which nobody sees.
type reader struct {
	s         *session
	topic     string
	partition int32
	next      int64 // offset to read from
	size      int32 // bytes per request; grows for a batch that does not fit
}

const (
	fetchWait = 500 * time.Millisecond
	fetchSize = 1 << 20
)

// newReader starts at offset, or at sarama.OffsetOldest or OffsetNewest.
func (s *session) newReader(ctx context.Context, topic string, partition int32, offset int64) (*reader, error) {
	r := &reader{s: s, topic: topic, partition: partition, next: offset, size: fetchSize}
	if offset >= 0 {
		return r, nil
	}
	next, err := r.bound(ctx, offset)
	r.next = next
	return r, err
}

// bound asks for the first offset (OffsetOldest), or for the one after the last committed record or marker (OffsetNewest).
func (r *reader) bound(ctx context.Context, which int64) (int64, error) {
	var offset int64
	err := r.s.call(ctx, func() error {
		broker, err := r.s.front.Leader(r.topic, r.partition)
		if err != nil {
			return err
		}
		request := sarama.NewOffsetRequest(r.s.front.Config().Version)
		request.IsolationLevel = sarama.ReadCommitted
		request.AddBlock(r.topic, r.partition, which, 1)
		response, err := broker.GetAvailableOffsets(request)
		if err != nil {
			broker.Close()
			return err
		}
		block := response.GetBlock(r.topic, r.partition)
		if block == nil {
			return sarama.ErrIncompleteResponse
		}
		offset = block.Offset
		return noError(block.Err)
	})
	return offset, r.fail(err)
}

// read hands the next committed records to yield and moves on. It returns after at most about fetchWait when there are none.
func (r *reader) read(ctx context.Context, yield func(*sarama.RecordBatch, *sarama.Record) error) error {
	var response *sarama.FetchResponse
	err := r.s.call(ctx, func() error {
		broker, err := r.s.front.Leader(r.topic, r.partition)
		if err != nil {
			return err
		}
		if response, err = broker.Fetch(r.request()); err != nil {
			broker.Close()
		}
		return err
	})
	if err != nil {
		return r.fail(err)
	}
	block := response.GetBlock(r.topic, r.partition)
	if block == nil {
		return r.fail(sarama.ErrIncompleteResponse)
	}
	if err := noError(block.Err); err != nil {
		return r.fail(r.moved(ctx, err))
	}
	before := r.next
	if err := r.take(block, yield); err != nil {
		return err
	}
	if r.next == before && response.ThrottleTime == 0 {
		r.skip(block)
	}
	return nil
}

func (r *reader) request() *sarama.FetchRequest {
	request := &sarama.FetchRequest{Version: 11, MinBytes: 1, MaxBytes: r.size, MaxWaitTime: int32(fetchWait.Milliseconds()), Isolation: sarama.ReadCommitted, SessionEpoch: -1}
	request.AddBlock(r.topic, r.partition, r.next, r.size, -1)
	return request
}

// moved makes the client look for the leader again where that helps.
func (r *reader) moved(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, sarama.ErrNotLeaderForPartition), errors.Is(err, sarama.ErrLeaderNotAvailable), errors.Is(err, sarama.ErrFencedLeaderEpoch),
		errors.Is(err, sarama.ErrUnknownLeaderEpoch), errors.Is(err, sarama.ErrReplicaNotAvailable):
		return r.s.call(ctx, func() error { return r.s.front.RefreshMetadata(r.topic) })
	}
	return err
}

// take walks through the batches. A batch of an aborted transaction is left out: the response names its producer and first offset, and the
// marker that ends it.
func (r *reader) take(block *sarama.FetchResponseBlock, yield func(*sarama.RecordBatch, *sarama.Record) error) error {
	r.size = fetchSize
	aborts := slices.Clone(block.AbortedTransactions)
	slices.SortFunc(aborts, func(a, b *sarama.AbortedTransaction) int { return int(a.FirstOffset - b.FirstOffset) })
	aborted := map[int64]bool{}
	for _, records := range block.RecordsSet {
		batch := records.RecordBatch
		if batch == nil {
			return r.fail(errors.New("records in a format older than Kafka 0.11"))
		}
		if batch.PartialTrailingRecord {
			break
		}
		for len(aborts) > 0 && aborts[0].FirstOffset <= batch.LastOffset() {
			aborted[aborts[0].ProducerID] = true
			aborts = aborts[1:]
		}
		switch {
		case batch.Control:
			if isAbortMarker(batch) {
				delete(aborted, batch.ProducerID)
			}
		case batch.IsTransactional && aborted[batch.ProducerID]:
		default:
			if err := r.yieldBatch(batch, yield); err != nil {
				return err
			}
		}
		r.next = max(r.next, batch.LastOffset()+1)
	}
	return nil
}

// yieldBatch leaves out what lies before the position: a batch is read whole.
func (r *reader) yieldBatch(batch *sarama.RecordBatch, yield func(*sarama.RecordBatch, *sarama.Record) error) error {
	for _, record := range batch.Records {
		if batch.FirstOffset+record.OffsetDelta < r.next {
			continue
		}
		if err := yield(batch, record); err != nil {
			return err
		}
	}
	return nil
}

// isAbortMarker reads a control record: its key is a version and a type, 0 for abort (KIP-98).
func isAbortMarker(batch *sarama.RecordBatch) bool {
	return len(batch.Records) == 1 && len(batch.Records[0].Key) >= 4 && batch.Records[0].Key[2] == 0 && batch.Records[0].Key[3] == 0
}

// skip moves on where nothing could be read. A batch that did not fit is asked for again, in full. An answer without any record from below
// the last stable offset consists of batches that compaction emptied (a broker always answers with at least one whole batch, KIP-74), so
// that there is nothing at the position itself.
func (r *reader) skip(block *sarama.FetchResponseBlock) {
	partial := block.Partial || len(block.RecordsSet) > 0
	switch {
	case partial:
		r.size = min(r.size*2, sarama.MaxResponseSize/2)
	case r.next < block.LastStableOffset:
		r.next++
	}
}

func (r *reader) fail(err error) error {
	return r.s.fail(fmt.Sprintf("read %s partition %d", r.topic, r.partition), err)
}

// noError gives nil for the code that means success.
func noError(code sarama.KError) error {
	if code == sarama.ErrNoError {
		return nil
	}
	return code
}
