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
	wait      time.Duration
}

const (
	fetchWait = 500 * time.Millisecond
	fetchSize = 1 << 20
)

// newReader starts at offset, or at sarama.OffsetOldest or OffsetNewest.
func (s *session) newReader(ctx context.Context, topic string, partition int32, offset int64) (*reader, error) {
	r := &reader{s: s, topic: topic, partition: partition, next: offset, size: fetchSize, wait: fetchWait}
	if offset >= 0 {
		return r, nil
	}
	next, err := r.bound(ctx, offset)
	r.next = next
	return r, err
}

// bound asks for the first offset (OffsetOldest), or for the one after the last committed record or marker (OffsetNewest).
func (r *reader) bound(ctx context.Context, which int64) (int64, error) {
	var block *sarama.OffsetResponseBlock
	err := r.ask(ctx, func(leader *sarama.Broker) (sarama.KError, error) {
		request := sarama.NewOffsetRequest(r.s.client.Config().Version)
		request.IsolationLevel = sarama.ReadCommitted
		request.AddBlock(r.topic, r.partition, which, 1)
		response, err := leader.GetAvailableOffsets(request)
		if err != nil {
			return 0, err
		}
		if block = response.GetBlock(r.topic, r.partition); block == nil {
			return 0, sarama.ErrIncompleteResponse
		}
		return block.Err, nil
	})
	if err != nil {
		return 0, err
	}
	return block.Offset, nil
}

// read hands the next committed records to yield and moves on. It returns after at most about r.wait when there are none.
func (r *reader) read(ctx context.Context, yield func(*sarama.RecordBatch, *sarama.Record) error) error {
	var response *sarama.FetchResponse
	var block *sarama.FetchResponseBlock
	err := r.ask(ctx, func(leader *sarama.Broker) (sarama.KError, error) {
		var err error
		if response, err = leader.Fetch(r.request()); err != nil {
			return 0, err
		}
		if block = response.GetBlock(r.topic, r.partition); block == nil {
			return 0, sarama.ErrIncompleteResponse
		}
		return block.Err, nil
	})
	if err != nil {
		return err
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

// ask puts a question to the leader of the partition, and again to the next one as long as brokers say that another one leads: a new topic
// has a leader before that leader knows.
func (r *reader) ask(ctx context.Context, question func(leader *sarama.Broker) (sarama.KError, error)) error {
	for try := 0; ; try++ {
		var code sarama.KError
		err := r.s.call(ctx, func() error {
			leader, err := r.s.client.Leader(r.topic, r.partition)
			if err != nil {
				return err
			}
			if code, err = question(leader); err != nil {
				leader.Close()
			}
			return err
		})
		if err == nil {
			err = noError(code)
		}
		if err == nil || !hasMoved(err) || try == leaderTries {
			return r.fail(err)
		}
		if err := r.lookAgain(ctx, try); err != nil {
			return r.fail(err)
		}
	}
}

// leaderTries with their back-off fill about ten seconds.
const leaderTries = 14

func (r *reader) lookAgain(ctx context.Context, try int) error {
	timer := time.NewTimer(backoff(try))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := r.s.call(ctx, func() error { return r.s.client.RefreshMetadata(r.topic) })
	if hasMoved(err) {
		return nil
	}
	return err
}

// hasMoved reports whether the partition is led by another broker, or by none for the moment.
func hasMoved(err error) bool {
	for _, code := range []sarama.KError{sarama.ErrNotLeaderForPartition, sarama.ErrLeaderNotAvailable, sarama.ErrFencedLeaderEpoch,
		sarama.ErrUnknownLeaderEpoch, sarama.ErrReplicaNotAvailable, sarama.ErrOffsetNotAvailable} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func (r *reader) request() *sarama.FetchRequest {
	request := &sarama.FetchRequest{Version: 11, MinBytes: 1, MaxBytes: sarama.MaxResponseSize / 2, MaxWaitTime: int32(r.wait.Milliseconds()), Isolation: sarama.ReadCommitted, SessionEpoch: -1}
	request.AddBlock(r.topic, r.partition, r.next, r.size, -1)
	return request
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
	return r.s.naming(onTopic(r.topic, "Read"), r.s.fail(fmt.Sprintf("read %s partition %d", r.topic, r.partition), err))
}

// noError gives nil for the code that means success.
func noError(code sarama.KError) error {
	if code == sarama.ErrNoError {
		return nil
	}
	return code
}
