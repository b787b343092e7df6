package config

import "time"

// Policies for bad records.
const (
	BadFail       = "fail"
	BadDeadLetter = "dead_letter"
)

// BadRecords says what happens with rows that cannot become messages.
type BadRecords struct {
	Policy      string        `yaml:"policy" default:"fail" oneof:"fail|dead_letter" doc:"fail: the table stops at the row, the others go on; dead_letter: the row goes to the dead-letter topic, in its place and in the same commit, and the table goes on. Counted in ctbridge_dead_letters_total."`
	Topic       string        `yaml:"topic" default:"{task}.dead_letters" doc:"Topic of dead letters, over {task}."`
	MaxBytes    Size          `yaml:"max_bytes" default:"8MiB" min:"8KiB" max:"64MiB" doc:"Largest dead letter, at least kafka.max_message_bytes: a letter is larger than the record that did not fit. What is larger leaves its largest values out. A new dead-letter topic gets it as max.message.bytes."`
	MaxPerTable int           `yaml:"max_per_table" default:"1000" min:"0" max:"1000000000" doc:"More dead letters of one table within the window stop the table: then it is no longer single rows that are bad. 0 = no limit."`
	Window      time.Duration `yaml:"window" default:"1h" min:"1s" max:"8760h" doc:"How long max_per_table counts before it begins anew. A restart begins anew, too."`
	ReplayTopic string        `yaml:"replay_topic" default:"ctbridge.{task}.replay" doc:"Compacted topic in which ctbridge replay remembers which dead letters were published again, over {task}."`
}

// LetterBytes is the size of the largest dead letter.
func (t *Task) LetterBytes() int { return int(max(t.BadRecords.MaxBytes, t.Kafka.MaxMessageBytes)) }

func (r *rules) checkBadRecords() {
	if r.BadRecords.Policy == BadFail {
		r.noEffect("with policy fail", "set bad_records.policy: dead_letter", "bad_records.max_bytes", "bad_records.max_per_table", "bad_records.window")
	}
}
