package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rules looks for values that are illegal and for combinations that are impossible. One problem per key is enough: what decoding has
// found is not reported again.
type rules struct {
	*Task
	*decoder
}

func (r *rules) check() {
	r.checkNames()
	r.checkSource()
	r.checkHorizon()
	r.checkFullLoad()
	r.checkFilters()
	r.checkColumns()
	r.checkOutputs()
	r.checkQlik()
	r.checkDatastream()
	r.checkDebezium()
	r.checkBadRecords()
	r.checkKafka()
	r.checkSASL()
	r.checkCheckpoint()
	r.checkReplicas()
	r.checkRegistry()
	r.checkMetrics()
	r.checkLimits()
}

// wrong reports a problem of a key, beginning with the value as it stands in the file.
func (r *rules) wrong(path, fix, format string, args ...any) {
	if r.broken(path) {
		return
	}
	at := r.set[path]
	text := fmt.Sprintf(format, args...)
	if at.shown != "" {
		text = at.shown + " " + text
	}
	r.fail(path, at.line, text, fix)
}

// broken reports whether the key has a problem already: what depends on its value cannot be judged.
func (r *rules) broken(path string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Path == path })
}

// has reports whether the file sets the key.
func (r *rules) has(path string) bool { _, set := r.set[path]; return set }

// noEffect reports those of the keys that the file sets although nothing will read them.
func (r *rules) noEffect(why, fix string, paths ...string) {
	for _, path := range paths {
		if r.has(path) {
			r.wrong(path, fix, "has no effect %s", why)
		}
	}
}

// need reports those of the keys that are empty.
func (r *rules) need(why string, values map[string]string, paths ...string) {
	for _, path := range paths {
		if values[path] == "" {
			r.wrong(path, "", "is needed %s", why)
		}
	}
}

var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

const (
	maxTask  = 200 // leaves room for the prefixes and suffixes of topics
	maxTopic = 249 // Kafka's limit
)

func (r *rules) checkNames() {
	const legal = "use letters, digits, dot, underscore and hyphen"
	switch {
	case r.Name == "": // reported as missing
	case !legalName.MatchString(r.Name) || r.Name == "." || r.Name == "..":
		r.wrong("task", legal, "is not legal in the names of topics")
	case len(r.Name) > maxTask:
		r.wrong("task", "", "has more than %d characters", maxTask)
	}
	if r.Server == "" {
		r.wrong("server", "remove it for the name of this machine", "is empty")
	}
	r.checkTopics()
}

// checkLimits compares bounds with each other.
func (r *rules) checkLimits() {
	if r.Commit.MaxBytes < r.Kafka.MaxMessageBytes {
		r.wrong("commit.max_bytes", "", "is below kafka.max_message_bytes (%s): the largest record would not fit", r.Kafka.MaxMessageBytes)
	}
	if r.Memory.MaxBytes < r.Commit.MaxBytes {
		r.wrong("memory.max_bytes", "", "is below commit.max_bytes (%s): a full commit would not fit", r.Commit.MaxBytes)
	}
	stall, fix := r.Health.StallTimeout, "raise health.stall_timeout"
	if least := longest(r.Source.PollInterval, r.Source.Horizon.Settle, r.Source.Horizon.MaxWait); stall <= least {
		r.wrong("health.stall_timeout", fix, "is not longer than source.poll_interval, horizon.settle and horizon.max_wait (%s): a healthy task would look stuck", Duration(least))
	}
}

func longest(durations ...time.Duration) (most time.Duration) {
	for _, d := range durations {
		most = max(most, d)
	}
	return most
}

var hostPattern = regexp.MustCompile(`^([a-zA-Z0-9._-]+|\[[0-9a-fA-F:.%a-z]+\])$`)

// hostPort checks host:port; anyHost allows the host to be left out.
func hostPort(address string, anyHost bool) bool {
	at := strings.LastIndexByte(address, ':')
	if at < 0 {
		return false
	}
	host := address[:at]
	port, err := strconv.ParseUint(address[at+1:], 10, 16)
	least := uint64(1)
	if anyHost {
		least = 0
	}
	return err == nil && port >= least && (host == "" && anyHost || hostPattern.MatchString(host))
}

// Duration writes a duration without the zero parts that time.Duration adds: 1m, not 1m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
