package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// GroupMember is a replica as the brokers describe it.
type GroupMember struct {
	ID      string `json:"id"`
	Host    string `json:"host"` // the name that the process has given, else its address
	Address string `json:"address"`
	PID     int    `json:"pid,omitempty"`
	Shards  []int  `json:"shards"` // as of the last plan; empty while one is made
}

// Members describes the group, sorted by host and process.
func (g *Group) Members(ctx context.Context) ([]GroupMember, error) {
	group, err := g.describe(ctx, func(*session) {})
	if group == nil || err != nil {
		return nil, err
	}
	return g.members(group), nil
}

// describe gives nil for a group that does not exist.
func (g *Group) describe(ctx context.Context, before func(*session)) (*sarama.GroupDescription, error) {
	s, err := g.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	before(s)
	request := &sarama.DescribeGroupsRequest{Version: 4, Groups: []string{g.options.Name}}
	var group *sarama.GroupDescription
	code, err := g.ask(ctx, s, func(broker *sarama.Broker) (sarama.KError, error) {
		response, err := broker.DescribeGroups(request)
		if err != nil {
			return 0, err
		}
		if len(response.Groups) != 1 {
			return 0, sarama.ErrIncompleteResponse
		}
		group = response.Groups[0]
		return sarama.KError(group.ErrorCode), nil
	})
	switch {
	case err != nil:
		return nil, err
	case code == sarama.ErrGroupIDNotFound:
		return nil, nil
	case code != sarama.ErrNoError:
		return nil, g.fail("describe group", code)
	case group.ProtocolType != groupType && group.ProtocolType != "":
		return nil, fault.New(fault.Config, "group "+g.options.Name, fmt.Errorf("it is one of type %q", group.ProtocolType), "name another one in high_availability.group")
	}
	return group, nil
}

func (g *Group) members(group *sarama.GroupDescription) []GroupMember {
	var out []GroupMember
	for id, d := range group.Members {
		m := GroupMember{ID: id, Address: strings.TrimPrefix(d.ClientHost, "/"), Shards: []int{}}
		m.Host, m.PID = parseMemberName(d.ClientId)
		if m.Host == "" {
			m.Host = m.Address
		}
		if len(d.MemberAssignment) > 0 {
			if a, err := d.GetMemberAssignment(); err == nil && a != nil {
				m.Shards = fromPartitions(a.Topics[g.options.Topic])
			}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b GroupMember) int { return strings.Compare(a.Host+a.ID, b.Host+b.ID) })
	return out
}

// Alone tells that no other replica can be alive: the group has no members, or only processes of this host that have ended and divided the task
// as this one does. It may be wrong about the latter, where hosts have one name; who then starts its shards fences the other, which waits for the
// group's word. Brokers tell the division only of a group at rest: one whose members died while it gathered is not waited for.
func (g *Group) Alone(ctx context.Context) (bool, error) {
	group, err := g.describe(ctx, func(s *session) { g.prepare(ctx, s) })
	if err != nil {
		return false, err
	}
	if group == nil || len(group.Members) == 0 {
		return true, nil
	}
	return (group.Protocol == g.protocol() || group.Protocol == "") && !slices.ContainsFunc(g.members(group), func(m GroupMember) bool {
		return m.PID == 0 || m.Host != g.options.Host || m.PID != g.options.PID && lives(m.PID)
	}), nil
}

// prepare waits for a new cluster, which makes its topics for groups and for transactions when they are first asked for: for both at the same
// time, and without the client's pauses of two seconds. Whatever else is wrong shows later.
func (g *Group) prepare(ctx context.Context, s *session) {
	keys := map[sarama.CoordinatorType]string{sarama.CoordinatorGroup: g.options.Name, sarama.CoordinatorTransaction: transactionalID(g.options.Task, 0)}
	for try := 0; try < leaderTries && len(keys) > 0; try++ {
		for kind, key := range keys {
			var code sarama.KError
			err := s.call(ctx, func() error {
				broker, err := s.anyBroker(g.options.Topic)
				if err != nil {
					return err
				}
				answer, err := broker.FindCoordinator(&sarama.FindCoordinatorRequest{Version: 1, CoordinatorKey: key, CoordinatorType: kind})
				if err == nil {
					code = answer.Err
				}
				return err
			})
			if err != nil || code != sarama.ErrConsumerCoordinatorNotAvailable {
				delete(keys, kind)
			}
		}
		if len(keys) > 0 && !sleepFor(ctx, backoff(min(try, coldBackoff))) {
			return
		}
	}
}

// coldBackoff keeps the pauses below 160 ms.
const coldBackoff = 4

// lives tells whether a process of this host runs, or is not ours to ask.
func lives(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}

// memberName is the client id of the group's connection: brokers show it in their descriptions of a group, at any time.
func memberName(client, host string, pid int) string {
	return client + "@" + host + ":" + strconv.Itoa(pid)
}

func parseMemberName(name string) (host string, pid int) {
	_, rest, ok := strings.Cut(name, "@")
	at := strings.LastIndexByte(rest, ':')
	if !ok || at < 0 {
		return "", 0
	}
	pid, _ = strconv.Atoi(rest[at+1:])
	return rest[:at], pid
}

// showShards makes the topic whose partitions stand for the shards. Nothing is ever written to it: it lets the tools of Kafka show who has
// which shard, and without the right to make it all else works.
func (g *Group) showShards(ctx context.Context, s *session) {
	err := s.ensure(ctx, g.options.Topic, change.DataTopic)
	if err == nil {
		err = s.call(ctx, func() error {
			partitions, err := s.client.Partitions(g.options.Topic)
			if err != nil || len(partitions) >= g.options.Shards {
				return err
			}
			admin, err := sarama.NewClusterAdminFromClient(s.client)
			if err != nil {
				return err
			}
			return admin.CreatePartitions(g.options.Topic, int32(g.options.Shards), nil, false)
		})
	}
	if err != nil {
		g.options.Log.Debug("the topic of the shards", "topic", g.options.Topic, "error", err)
	}
}
