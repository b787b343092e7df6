package bridge

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/source"
)

// Place is where the events of a table would go.
type Place struct {
	Topics []string // of each output
	Err    error    // why the table would be stopped
}

// Places tells where a start would publish the tables of a discovery, whose names it resolves as a runner does. own are the task's own topics.
func Places(outputs []Output, own []string, found source.Discovery, state *checkpoint.State) map[change.TableID]Place {
	r := &Runner{options: Options{Outputs: outputs, OwnTopics: own}, state: state, names: make(map[named][]string)}
	claims := r.claims(found)
	out := make(map[change.TableID]Place, len(found.Tables))
	for _, captured := range found.Tables {
		topics, err := r.topicsOf(captured.Table, claims)
		out[captured.Table.ID] = Place{Topics: topics, Err: err}
	}
	return out
}
