package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/fault"
	"ctbridge/bridge/shard"
)

// groupType makes the group one of consumers for the brokers and their tools: partition n of the topic stands for shard n.
const groupType = "consumer"

// join joins the group and does what it says.
func (g *Group) join(ctx context.Context, s *session, r Replica) error {
	begin := time.Now()
	if g.owns {
		g.extend(begin.Add(rebalanceTimeout(g.options.Session))) // nobody is taken for dead while the group gathers
	}
	response, err := g.gather(ctx, s, r)
	if err != nil {
		return err
	}
	shards, err := g.share(ctx, s, response)
	if errors.Is(err, sarama.ErrRebalanceInProgress) {
		return nil // somebody has joined meanwhile: once more
	}
	if err != nil {
		return err
	}
	g.generation, g.joined, g.owns = response.GenerationId, true, true
	g.extend(time.Now().Add(g.options.Session))
	g.reached(nil)
	if g.options.Rebalanced != nil {
		g.options.Rebalanced()
	}
	g.options.Log.Info("this replica is a member", "group", g.options.Name, "generation", g.generation, "shards", shards, "running", r.Running())
	r.Assign(shards)
	return nil
}

// gather waits until all members have joined.
func (g *Group) gather(ctx context.Context, s *session, r Replica) (*sarama.JoinGroupResponse, error) {
	for {
		var response *sarama.JoinGroupResponse
		code, err := g.ask(ctx, s, func(broker *sarama.Broker) (sarama.KError, error) {
			request, err := g.joinRequest(s, r)
			if err == nil {
				response, err = broker.JoinGroup(request)
			}
			if err != nil {
				return 0, err
			}
			return response.Err, nil
		})
		switch {
		case err != nil:
			return nil, err
		case code == sarama.ErrNoError:
			g.member = response.MemberId
			return response, nil
		case code == sarama.ErrMemberIdRequired:
			g.member = response.MemberId
		case code == sarama.ErrUnknownMemberId && g.member != "":
			g.member = ""
			if g.generation > 0 { // taken for dead while it was away; what an early start runs was not the group's
				g.lose(r, "the group does not know it any more")
			}
		default:
			return nil, g.fail("join group", code)
		}
	}
}

func (g *Group) joinRequest(s *session, r Replica) (*sarama.JoinGroupRequest, error) {
	request := sarama.NewJoinGroupRequest(s.client.Config().Version)
	request.GroupId, request.MemberId, request.ProtocolType = g.options.Name, g.member, groupType
	request.SessionTimeout = int32(g.options.Session.Milliseconds())
	request.RebalanceTimeout = int32(rebalanceTimeout(g.options.Session).Milliseconds())
	about := &sarama.ConsumerGroupMemberMetadata{Version: 2, Topics: []string{g.options.Topic}, GenerationID: g.generation}
	if owned := toPartitions(r.Running()); g.owns && len(owned) > 0 {
		about.OwnedPartitions = []*sarama.OwnedPartition{{Topic: g.options.Topic, Partitions: owned}}
	}
	return request, request.AddGroupProtocolMetadata(g.protocol(), about)
}

// share gives out the shards where this replica is the one that plans, and learns its own.
func (g *Group) share(ctx context.Context, s *session, joined *sarama.JoinGroupResponse) ([]int, error) {
	request := &sarama.SyncGroupRequest{Version: 4, GroupId: g.options.Name, GenerationId: joined.GenerationId, MemberId: joined.MemberId}
	if joined.LeaderId == joined.MemberId {
		if err := g.plan(joined, request); err != nil {
			return nil, err
		}
	}
	var response *sarama.SyncGroupResponse
	code, err := g.ask(ctx, s, func(broker *sarama.Broker) (sarama.KError, error) {
		var err error
		if response, err = broker.SyncGroup(request); err != nil {
			return 0, err
		}
		return response.Err, nil
	})
	if err == nil && code != sarama.ErrNoError {
		err = g.fail("share out shards", code)
	}
	if err != nil || len(response.MemberAssignment) == 0 {
		return nil, err
	}
	assignment, err := response.GetMemberAssignment()
	if err != nil {
		return nil, s.fail("read the assignment", err)
	}
	return fromPartitions(assignment.Topics[g.options.Topic]), nil
}

// plan adds the shards of all members to the request.
func (g *Group) plan(joined *sarama.JoinGroupResponse, request *sarama.SyncGroupRequest) error {
	about, err := joined.GetMembers()
	if err != nil {
		return fault.New(fault.Fatal, "group "+g.options.Name, fmt.Errorf("a member is not a replica of ctbridge: %w", err), "use another group")
	}
	members := make([]shard.Member, 0, len(about))
	for id, meta := range about {
		m := shard.Member{ID: id, Generation: meta.GenerationID}
		for _, owned := range meta.OwnedPartitions {
			m.Owned = append(m.Owned, fromPartitions(owned.Partitions)...)
		}
		members = append(members, m)
	}
	for id, shards := range shard.Plan(members, g.options.Shards) {
		assignment := &sarama.ConsumerGroupMemberAssignment{Version: 1}
		if len(shards) > 0 {
			assignment.Topics = map[string][]int32{g.options.Topic: toPartitions(shards)}
		}
		if err := request.AddGroupAssignmentMember(id, assignment); err != nil {
			return err
		}
	}
	return nil
}

func toPartitions(shards []int) []int32 {
	out := make([]int32, len(shards))
	for i, n := range shards {
		out[i] = int32(n)
	}
	return out
}

func fromPartitions(partitions []int32) []int {
	out := make([]int, len(partitions))
	for i, p := range partitions {
		out[i] = int(p)
	}
	return out
}

// heartbeat tells that we live; joined is false behind it when the group is to be joined anew.
func (g *Group) heartbeat(ctx context.Context, s *session, r Replica) error {
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, g.options.Session/2, errors.New("the group did not answer in time"))
	defer cancel()
	request := &sarama.HeartbeatRequest{Version: 4, GroupId: g.options.Name, GenerationId: g.generation, MemberId: g.member}
	code, err := g.ask(ctx, s, func(broker *sarama.Broker) (sarama.KError, error) {
		response, err := broker.Heartbeat(request)
		if err != nil {
			return 0, err
		}
		return response.Err, nil
	})
	switch {
	case err != nil:
		return err
	case code == sarama.ErrNoError:
		g.extend(begin.Add(g.options.Session))
		g.reached(nil)
	case code == sarama.ErrRebalanceInProgress:
		g.extend(begin.Add(g.options.Session))
		g.joined = false
	case code == sarama.ErrUnknownMemberId, code == sarama.ErrIllegalGeneration, code == sarama.ErrFencedInstancedId:
		g.lose(r, code.Error())
	default:
		return g.fail("heartbeat", code)
	}
	return nil
}

func (g *Group) leave(ctx context.Context, s *session) error {
	request := &sarama.LeaveGroupRequest{Version: 4, GroupId: g.options.Name, Members: []sarama.MemberIdentity{{MemberId: g.member}}}
	code, err := g.ask(ctx, s, func(broker *sarama.Broker) (sarama.KError, error) {
		response, err := broker.LeaveGroup(request)
		if err != nil {
			return 0, err
		}
		return response.Err, nil
	})
	if err == nil && code != sarama.ErrNoError && code != sarama.ErrUnknownMemberId {
		err = g.fail("leave group", code)
	}
	return err
}

// ask puts a question to the group's coordinator, and again to the next one while brokers say that it has moved or is not ready.
func (g *Group) ask(ctx context.Context, s *session, question func(*sarama.Broker) (sarama.KError, error)) (sarama.KError, error) {
	for try := 0; ; try++ {
		var code sarama.KError
		err := s.call(ctx, func() error {
			broker, err := s.client.Coordinator(g.options.Name)
			if err != nil {
				return err
			}
			code, err = question(broker)
			return err
		})
		if err != nil && !coordinatorAway(err) {
			return 0, g.failed(s, err)
		}
		if err == nil && !coordinatorAway(code) {
			return code, nil
		}
		if try >= leaderTries || !sleepFor(ctx, backoff(try)) {
			return 0, s.fail("find the coordinator of group "+g.options.Name, errors.Join(err, context.Cause(ctx)))
		}
		_ = s.call(ctx, func() error { return s.client.RefreshCoordinator(g.options.Name) }) // the next question meets it
	}
}

func coordinatorAway(err error) bool {
	return errors.Is(err, sarama.ErrNotCoordinatorForConsumer) || errors.Is(err, sarama.ErrConsumerCoordinatorNotAvailable) || errors.Is(err, sarama.ErrOffsetsLoadInProgress)
}

// failed is an error that is no answer; the client hides the codes of the look-up of the coordinator in such.
func (g *Group) failed(s *session, err error) error {
	if code := codeOf(err); code != sarama.ErrNoError {
		return g.fail("find the coordinator", code)
	}
	return s.fail("group "+g.options.Name, err)
}

// fail gives the brokers' answer its meaning.
func (g *Group) fail(what string, code sarama.KError) error {
	where := what + " " + g.options.Name
	switch code {
	case sarama.ErrInconsistentGroupProtocol:
		return fault.New(fault.Config, where, fmt.Errorf("its members run another task, or divide %s otherwise than into %d shard(s): %w", g.options.Task, g.options.Shards, code),
			"all replicas need the same ordering and shards: stop them all before you change that; another task needs another high_availability.group")
	case sarama.ErrGroupAuthorizationFailed:
		return fault.New(fault.Fatal, where, code, "this user may not; grant it: "+g.conf.grant(right{"--group", g.options.Name, []string{"Read"}})+
			", or set high_availability.enabled: false and run one process only")
	case sarama.ErrInvalidSessionTimeout:
		return fault.New(fault.Config, where, fmt.Errorf("session time-out %v: %w", g.options.Session, code),
			"set high_availability.session_timeout to a value between the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms")
	case sarama.ErrGroupMaxSizeReached:
		return fault.New(fault.Fatal, where, code, "stop a replica, or raise the brokers' group.max.size")
	}
	return classify(where, code)
}
