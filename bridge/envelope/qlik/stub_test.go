package qlik

import (
	"fmt"
	"strings"

	"ctbridge/bridge/envelope"
)

// schemaText stands in for the Avro schema text: everything of the tree that a schema shows.
func schemaText(n *envelope.Node) (string, error) {
	var b strings.Builder
	fmt.Fprint(&b, n.Namespace, ".", n.Name, n.Nullable, n.Avro, "{")
	for i := range n.Fields {
		inner, _ := schemaText(n.Fields[i].Node)
		fmt.Fprint(&b, n.Fields[i].InAvro(), ":", inner, ";")
	}
	return b.String() + "}", nil
}
