package proxy

import (
	"encoding/binary"
	"io"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Act is what happens to a request.
type Act int

// The acts.
const (
	CutBefore Act = iota // the connection ends, and the request does not arrive
	CutAfter             // the broker does what it is asked for, then the connection ends without an answer
	Swallow              // the broker does it, and the answer never comes
	Answer               // the proxy answers with an error; the broker hears of nothing
)

// Rule makes some requests go wrong.
type Rule struct {
	Key   kmsg.Key // which requests
	Nth   int      // the first that goes wrong, counted from now, from 1
	Count int      // how many; at least 1
	Act   Act
	Code  int16 // Kafka's number of the error, for Answer
	fired chan struct{}
	seen  int
}

// Fired is closed once the first has gone wrong.
func (r *Rule) Fired() <-chan struct{} { return r.fired }

// NewKafka forwards to one broker.
func NewKafka(broker string) (*Proxy, error) { return start(broker, (*Proxy).kafka) }

// Break puts a rule of a proxy from NewKafka in force.
func (p *Proxy) Break(r Rule) *Rule {
	r.Nth, r.Count, r.fired = max(r.Nth, 1), max(r.Count, 1), make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &r)
	return &r
}

// pending is a request whose answer is due: answers come in the order of requests.
type pending struct {
	key, version int16
	rule         *Rule
	answer       []byte // of the proxy's own
}

const frameLimit = 128 << 20

func (p *Proxy) kafka(l *link) {
	due := make(chan pending, 1024)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for d := range due {
			if !p.deliver(l, d) {
				break
			}
		}
		l.close()
		for range due { // take may wait for room
		}
	}()
	for p.take(l, due) {
	}
	l.close()
	close(due)
	<-done
}

// take forwards one request.
func (p *Proxy) take(l *link, due chan<- pending) bool {
	frame, err := readFrame(l.client)
	if err != nil || len(frame) < 8 {
		return false
	}
	<-p.gate()
	if p.forgot(l) {
		return true
	}
	d := pending{key: int16(binary.BigEndian.Uint16(frame)), version: int16(binary.BigEndian.Uint16(frame[2:]))}
	d.rule = p.ruleFor(d.key)
	switch {
	case d.rule == nil:
	case d.rule.Act == CutBefore:
		return false
	case d.rule.Act == Answer:
		d.answer = refusal(d.key, d.version, frame[4:8], d.rule.Code)
		due <- d
		return d.answer != nil
	}
	due <- d
	return writeFrame(l.server, frame) == nil
}

func (p *Proxy) ruleFor(key int16) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.rules {
		if r.Key.Int16() != key {
			continue
		}
		if r.seen++; r.seen < r.Nth {
			continue
		}
		if r.seen == r.Nth {
			close(r.fired)
		}
		if r.seen == r.Nth+r.Count-1 {
			p.rules = append(p.rules[:i:i], p.rules[i+1:]...)
		}
		return r
	}
	return nil
}

// deliver forwards one answer.
func (p *Proxy) deliver(l *link, d pending) bool {
	if d.answer != nil {
		return writeFrame(l.client, d.answer) == nil
	}
	frame, err := readFrame(l.server)
	if err != nil {
		return false
	}
	<-p.gate()
	switch {
	case p.forgot(l):
		return true
	case d.rule != nil && d.rule.Act == CutAfter:
		return false
	case d.rule != nil && d.rule.Act == Swallow:
		return true
	}
	return writeFrame(l.client, p.redirect(d, frame)) == nil
}

// redirect writes the proxy's address over that of the broker.
func (p *Proxy) redirect(d pending, frame []byte) []byte {
	response := kmsg.ResponseForKey(d.key)
	host, text, _ := net.SplitHostPort(p.Addr())
	port, _ := strconv.Atoi(text)
	switch response.(type) {
	case *kmsg.MetadataResponse, *kmsg.FindCoordinatorResponse:
	default:
		return frame
	}
	response.SetVersion(d.version)
	body := frame[4:]
	if response.IsFlexible() {
		body = body[1:] // no tags in the header
	}
	if response.ReadFrom(body) != nil {
		return frame
	}
	switch r := response.(type) {
	case *kmsg.MetadataResponse:
		for i := range r.Brokers {
			r.Brokers[i].Host, r.Brokers[i].Port = host, int32(port)
		}
	case *kmsg.FindCoordinatorResponse:
		r.Host, r.Port = host, int32(port)
		for i := range r.Coordinators {
			r.Coordinators[i].Host, r.Coordinators[i].Port = host, int32(port)
		}
	}
	return encode(response, frame[:4])
}

func encode(response kmsg.Response, correlation []byte) []byte {
	out := append([]byte(nil), correlation...)
	if response.IsFlexible() {
		out = append(out, 0)
	}
	return response.AppendTo(out)
}

// refusal is an error as the broker would tell it; nil for requests that nobody needed yet.
func refusal(key, version int16, correlation []byte, code int16) []byte {
	response := kmsg.ResponseForKey(key)
	if response == nil {
		return nil
	}
	response.SetVersion(version)
	switch r := response.(type) {
	case *kmsg.EndTxnResponse:
		r.ErrorCode = code
	case *kmsg.InitProducerIDResponse:
		r.ErrorCode = code
	case *kmsg.HeartbeatResponse:
		r.ErrorCode = code
	default:
		return nil
	}
	return encode(response, correlation)
}

func readFrame(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > frameLimit {
		return nil, io.ErrUnexpectedEOF
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(from, frame)
	return frame, err
}

func writeFrame(to io.Writer, frame []byte) error {
	_, err := to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}
