package kafka

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

// serve sends what waits for a broker until nothing does.
func (w *writer) serve(n *node) {
	for {
		lanes, sent := w.collect(n)
		if len(lanes) == 0 {
			return
		}
		w.send(n, lanes, sent)
	}
}

// collect takes one batch of each waiting lane, as many as go into a request. Without any it signs the caller off.
func (w *writer) collect(n *node) ([]*lane, []*batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lanes []*lane
	var sent []*batch
	size := 0
	for len(n.queue) > 0 && size < maxBatchRequests && w.failed == nil {
		l := n.queue[0]
		n.queue = n.queue[1:]
		b := w.next(l)
		if b == nil {
			w.rest(l)
			continue
		}
		lanes, sent = append(lanes, l), append(sent, b)
		size += b.size
	}
	if len(lanes) == 0 {
		n.running--
	}
	return lanes, sent
}

// next takes the lane's next batch off it, nil when there is none worth sending. w.mu is held.
func (w *writer) next(l *lane) *batch {
	if len(l.ready) == 0 && l.open != nil && w.flushing {
		w.seal(l)
	}
	if len(l.ready) == 0 {
		return nil
	}
	b := l.ready[0]
	l.ready = l.ready[1:]
	return b
}

// send sends one request and settles what became of each batch.
func (w *writer) send(n *node, lanes []*lane, sent []*batch) {
	response, err := w.produce(n, lanes, sent)
	var again []*lane
	tries := 0
	for i, l := range lanes {
		b := sent[i]
		if !w.settle(l, b, outcome(response, l, err)) {
			again = append(again, l)
			tries = max(tries, b.tries)
		}
	}
	w.wake()
	if len(again) > 0 {
		w.tell(again, tries, outcome(response, again[0], err))
		w.retry(again, tries)
	}
}

// A batch was sent for a second or two when it is told of, and then again every minute.
const (
	triesUntold = 7
	triesToTell = 60
)

// tell logs that partitions do not take what is sent to them: until patience is over nothing else would.
func (w *writer) tell(lanes []*lane, tries int, err error) {
	if tries < triesUntold || (tries-triesUntold)%triesToTell > 0 {
		return
	}
	w.conf.Log.Warn("Kafka does not take records, sending them again", "topic", lanes[0].topic, "partition", lanes[0].partition, "partitions", len(lanes), "error", err,
		"attempts", tries, "for_at_most", w.patience)
}

func (w *writer) produce(n *node, lanes []*lane, sent []*batch) (*sarama.ProduceResponse, error) {
	if n.id == noLeader {
		return nil, sarama.ErrLeaderNotAvailable
	}
	if err := w.addToTransaction(lanes, sent); err != nil {
		return nil, err
	}
	broker, err := w.client.Broker(n.id)
	if err != nil {
		return nil, err
	}
	request := &sarama.ProduceRequest{Version: 8, RequiredAcks: sarama.WaitForAll, Timeout: int32(w.conf.RequestTimeout.Milliseconds() / 2)}
	if w.id != "" {
		request.TransactionalID = &w.id
	}
	for i, l := range lanes {
		packed, err := w.onWire(sent[i])
		if err != nil {
			return nil, err
		}
		request.AddBatch(l.topic, l.partition, packed)
	}
	type answer struct {
		response *sarama.ProduceResponse
		err      error
	}
	answers := make(chan answer, 1)
	err = broker.AsyncProduce(request, func(response *sarama.ProduceResponse, err error) { answers <- answer{response, err} })
	if err == nil {
		a := <-answers
		err = a.err
		if err == nil {
			return a.response, nil
		}
	}
	broker.Close()
	return nil, err
}

// outcome is what an answer says of one batch.
func outcome(response *sarama.ProduceResponse, l *lane, err error) error {
	if err != nil {
		return err
	}
	block := response.GetBlock(l.topic, l.partition)
	if block == nil {
		return sarama.ErrIncompleteResponse
	}
	if block.Err == sarama.ErrDuplicateSequenceNumber {
		return nil // the broker has it from an earlier attempt
	}
	return noError(block.Err)
}

// settle takes note of what became of a batch and reports whether that is final; otherwise the batch is the lane's next one again.
func (w *writer) settle(l *lane, b *batch, err error) bool {
	switch {
	case err == nil:
		w.acknowledged(l, b)
		return true
	case tooLarge(err) && b.count > 1:
		return w.putHalves(l, b, err)
	case !passes(err) || b.tries > 0 && time.Since(b.since) > w.patience:
		w.fail(&recordError{topic: l.topic, owner: b.blamed(err), err: err})
		return true
	}
	if b.tries == 0 {
		b.since = time.Now()
	}
	b.tries++
	w.putBack(l, b)
	return false
}

func (w *writer) acknowledged(l *lane, b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count -= b.count
	w.bytes -= b.counted
	w.reuse(b)
	w.rest(l)
}

func (w *writer) putBack(l *lane, batches ...*batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.ready = append(batches, l.ready...)
}

// putHalves makes the halves of a batch that is too large the lane's next ones. It reports whether the batch's fate is final all the same.
func (w *writer) putHalves(l *lane, b *batch, refusal error) bool {
	halves, err := b.split(w.conf.Compression)
	if err != nil {
		w.fail(&recordError{topic: l.topic, owner: b.blamed(refusal), err: errors.Join(refusal, err)})
		return true
	}
	w.putBack(l, halves...)
	return false
}

// retry waits, looks for the leaders of the lanes again and queues them.
func (w *writer) retry(lanes []*lane, tries int) {
	if !w.line.sleep(backoff(tries)) {
		w.fail(errCut)
		return
	}
	topics := map[string]bool{}
	for _, l := range lanes {
		topics[l.topic] = true
	}
	w.client.RefreshMetadata(slices.Collect(maps.Keys(topics))...) // what it could not find out, the next attempt meets
	for _, l := range lanes {
		leader := w.leader(l.topic, l.partition)
		w.mu.Lock()
		l.leader, l.busy = leader, false
		w.queue(l)
		w.mu.Unlock()
	}
}

// tooLarge reports that a broker takes no batch of that size, or no record where it has only one.
func tooLarge(err error) bool {
	return errors.Is(err, sarama.ErrMessageSizeTooLarge) || errors.Is(err, sarama.ErrMessageSetSizeTooLarge)
}

// passes reports whether sending the same batch again can help: the connection broke, the leader moved, or replicas are away.
func passes(err error) bool {
	switch codeOf(err) {
	case sarama.ErrNoError:
		var encoding sarama.PacketEncodingError
		return !errors.As(err, &encoding)
	case sarama.ErrInvalidMessage, sarama.ErrUnknownTopicOrPartition, sarama.ErrLeaderNotAvailable, sarama.ErrNotLeaderForPartition,
		sarama.ErrRequestTimedOut, sarama.ErrNetworkException, sarama.ErrNotEnoughReplicas, sarama.ErrNotEnoughReplicasAfterAppend,
		sarama.ErrKafkaStorageError, sarama.ErrFencedLeaderEpoch, sarama.ErrUnknownLeaderEpoch, sarama.ErrBrokerNotAvailable,
		sarama.ErrReplicaNotAvailable, sarama.ErrThrottlingQuotaExceeded:
		return true
	}
	return false
}
