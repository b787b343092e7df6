package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/preflight/facts"
)

// errTransactionalIDNotFound is TRANSACTIONAL_ID_NOT_FOUND, for which the client has no name.
const errTransactionalIDNotFound sarama.KError = 105

// surveyTransactions asks the coordinator what it knows of a transactional id. An id that was never used is no error; asking for a producer id would
// tell more, and fence the task that runs.
func (s *session) surveyTransactions(ctx context.Context, id string) facts.Transactions {
	out := facts.Transactions{ID: id}
	err := s.coordinated(ctx, func() error {
		broker, err := s.client.TransactionCoordinator(id)
		if err != nil {
			return err
		}
		out.Coordinator = broker.Addr()
		if !s.client.Config().Version.IsAtLeast(sarama.V3_0_0_0) {
			return nil
		}
		answer, err := broker.DescribeTransactions(&sarama.DescribeTransactionsRequest{TransactionalIDs: []string{id}})
		if err != nil {
			return err
		}
		if len(answer.TransactionStates) != 1 {
			return sarama.ErrIncompleteResponse
		}
		state := answer.TransactionStates[0]
		if state.ErrorCode == errTransactionalIDNotFound {
			return nil
		}
		out.State = state.TransactionState
		if state.TransactionStartTime > 0 {
			out.Since = time.UnixMilli(state.TransactionStartTime)
		}
		return noError(state.ErrorCode)
	})
	out.Err = s.fail("transactional id "+id, err)
	return out
}

// surveyGroup asks who is in a group, and whether this user may join it. Joining it to find out would make the replicas pause.
func (s *session) surveyGroup(ctx context.Context, name string) *facts.Group {
	out := &facts.Group{ID: name}
	const none, read = -1 << 31, 1 << 3 // KIP-430
	err := s.coordinated(ctx, func() error {
		broker, err := s.client.Coordinator(name)
		if err != nil {
			return err
		}
		answer, err := broker.DescribeGroups(&sarama.DescribeGroupsRequest{Version: 4, Groups: []string{name}, IncludeAuthorizedOperations: true})
		if err != nil {
			return err
		}
		if len(answer.Groups) != 1 {
			return sarama.ErrIncompleteResponse
		}
		group := answer.Groups[0]
		out.Members = len(group.Members)
		if ops := group.AuthorizedOperations; group.ErrorCode == 0 && ops != none && ops != 0 && ops&read == 0 {
			return sarama.ErrGroupAuthorizationFailed
		}
		return noError(sarama.KError(group.ErrorCode))
	})
	out.Err = s.fail("group "+name, err)
	return out
}

// coordinated asks a coordinator, and again as long as there is none: a new cluster makes its topics for groups and for transactions when they are first
// asked for.
func (s *session) coordinated(ctx context.Context, ask func() error) error {
	for try := 0; ; try++ {
		err := s.call(ctx, ask)
		if !errors.Is(err, sarama.ErrConsumerCoordinatorNotAvailable) && !errors.Is(err, sarama.ErrNotCoordinatorForConsumer) || try == leaderTries {
			return err
		}
		if !sleepFor(ctx, backoff(min(try, coldBackoff))) {
			return err
		}
	}
}
