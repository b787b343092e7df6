package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// init asks for a producer id. With a transactional id that ends what an older producer of the same id left open and fences it.
func (w *writer) init() error {
	request := &sarama.InitProducerIDRequest{Version: 3, TransactionTimeout: w.conf.TransactionTimeout, ProducerID: -1, ProducerEpoch: -1}
	if w.id != "" {
		request.TransactionalID = &w.id
	}
	return w.coordinate(func(broker *sarama.Broker) (sarama.KError, error) {
		response, err := broker.InitProducerID(request)
		if err != nil {
			return 0, err
		}
		w.producerID, w.epoch = response.ProducerID, response.ProducerEpoch
		return response.Err, nil
	})
}

// addToTransaction makes the lanes part of the open transaction, which must be done before anything is sent to them.
func (w *writer) addToTransaction(lanes []*lane, sent []*batch) error {
	if w.id == "" {
		return nil
	}
	w.mu.Lock()
	fresh := map[string][]int32{}
	for _, l := range lanes {
		if !l.added {
			fresh[l.topic] = append(fresh[l.topic], l.partition)
		}
	}
	w.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	if err := w.addPartitions(fresh, lanes, sent); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range lanes {
		if !l.added {
			l.added = true
			w.added = append(w.added, l)
		}
	}
	return nil
}

func (w *writer) addPartitions(fresh map[string][]int32, lanes []*lane, sent []*batch) error {
	request := &sarama.AddPartitionsToTxnRequest{Version: 2, TransactionalID: w.id, ProducerID: w.producerID, ProducerEpoch: w.epoch, TopicPartitions: fresh}
	return w.coordinate(func(broker *sarama.Broker) (sarama.KError, error) {
		response, err := broker.AddPartitionsToTxn(request)
		if err != nil {
			return 0, err
		}
		topic, code := firstCause(response.Errors)
		if code != sarama.ErrNoError && !coordinatorPasses(code) {
			w.failTopic(topic, code, lanes, sent)
		}
		return code, nil
	})
}

// firstCause finds the topic that a refused request is about. The others of the request only were not tried.
func firstCause(refused map[string][]*sarama.PartitionError) (string, sarama.KError) {
	topic, code := "", sarama.ErrNoError
	for name, partitions := range refused {
		for _, p := range partitions {
			if p.Err != sarama.ErrNoError && (code == sarama.ErrNoError || code == sarama.ErrOperationNotAttempted) {
				topic, code = name, p.Err
			}
		}
	}
	return topic, code
}

// failTopic ends the writer with an error about one topic, in the name of a record that was on its way there.
func (w *writer) failTopic(topic string, err error, lanes []*lane, sent []*batch) {
	for i, l := range lanes {
		if l.topic == topic {
			w.fail(&recordError{topic: topic, owner: owner{table: sent[i].tables[0].table}, err: err})
			return
		}
	}
}

// end commits or aborts the transaction. Nothing may be on its way. A transaction that the brokers never heard of needs no end.
func (w *writer) end(commit bool) error {
	w.mu.Lock()
	lanes := w.added
	w.added = nil
	w.mu.Unlock()
	if len(lanes) == 0 {
		return nil
	}
	request := &sarama.EndTxnRequest{Version: 2, TransactionalID: w.id, ProducerID: w.producerID, ProducerEpoch: w.epoch, TransactionResult: commit}
	err := w.coordinate(func(broker *sarama.Broker) (sarama.KError, error) {
		response, err := broker.EndTxn(request)
		if err != nil {
			return 0, err
		}
		return response.Err, nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range lanes {
		l.added = false
	}
	return err
}

// coordinate puts a question to the coordinator of the transactional id (any broker without one), again and again while the answer is that it
// cannot tell just now. All questions may be asked twice.
func (w *writer) coordinate(ask func(*sarama.Broker) (sarama.KError, error)) error {
	deadline := time.Now().Add(w.patience)
	for try := 0; ; try++ {
		err := w.askCoordinator(ask)
		if err == nil || !coordinatorPasses(err) || time.Now().After(deadline) {
			return err
		}
		if !w.line.sleep(transactionBackoff(try)) {
			return fmt.Errorf("%w: %w", errCut, err)
		}
	}
}

func (w *writer) askCoordinator(ask func(*sarama.Broker) (sarama.KError, error)) error {
	broker, err := w.coordinator()
	if err != nil {
		return err
	}
	code, err := ask(broker)
	if err != nil {
		broker.Close()
	}
	if w.id != "" && (err != nil || code == sarama.ErrNotCoordinatorForConsumer || code == sarama.ErrConsumerCoordinatorNotAvailable) {
		w.client.RefreshTransactionCoordinator(w.id) // if it fails, the next question meets it
	}
	if err != nil {
		return err
	}
	return noError(code)
}

func (w *writer) coordinator() (*sarama.Broker, error) {
	if w.id != "" {
		return w.client.TransactionCoordinator(w.id)
	}
	if broker := w.client.LeastLoadedBroker(); broker != nil {
		return broker, nil
	}
	return nil, sarama.ErrOutOfBrokers
}

// transactionBackoff starts small: the brokers finish one transaction in moments and refuse the next one meanwhile
// (CONCURRENT_TRANSACTIONS), which every transaction meets.
func transactionBackoff(try int) time.Duration {
	switch {
	case try < 25:
		return 2 * time.Millisecond
	case try < 100:
		return 20 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// coordinatorPasses reports whether asking again can help.
func coordinatorPasses(err error) bool {
	switch {
	case errors.Is(err, sarama.ErrConcurrentTransactions), errors.Is(err, sarama.ErrConsumerCoordinatorNotAvailable),
		errors.Is(err, sarama.ErrNotCoordinatorForConsumer), errors.Is(err, sarama.ErrOffsetsLoadInProgress):
		return true
	}
	return passes(err)
}
