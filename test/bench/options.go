package main

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the command line.
type options struct {
	sections, engines, envelopes, formats, mixes []string
	widths, tables                               []int
	rows, repeat, others                         int
	cost                                         string
	poll                                         time.Duration
	full, profiles                               bool
	out                                          string
}

// rowsOf makes tables shorter that take longer to fill and to read: those of wide rows, and those of the peer.
func (o options) rowsOf(engine string, width int) int {
	rows := o.rows
	if width > 600 {
		rows /= 2
	}
	if engine == "peer" {
		rows /= 5
	}
	return max(rows, 2)
}

// times is how often a width and a mix are measured.
func (o options) times(width int, mix string) int {
	if width == o.widths[0] && mix == o.mixes[0] {
		return o.repeat
	}
	return o.others
}

var sectionNames = []string{"throughput", "latency", "tables", "transactions", "columns", "encoding"}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	list := func(name, value, usage string, into *[]string, known ...string) {
		*into = strings.Split(value, ",")
		flags.Func(name, usage+" (default "+value+")", func(given string) error {
			*into = strings.Split(given, ",")
			for _, one := range *into {
				if !slices.Contains(known, one) {
					return fmt.Errorf("%q is none of %s", one, strings.Join(known, ", "))
				}
			}
			return nil
		})
	}
	list("section", strings.Join(sectionNames, ","), "what to measure", &o.sections, sectionNames...)
	engines := []string{"sqlite", "postgres", "mariadb", "peer", "sqlserver"}
	list("engines", strings.Join(engines, ","), "engines of throughput and latency; those whose servers are not there are left out", &o.engines, engines...)
	list("envelopes", "qlik,datastream,debezium", "envelopes of throughput", &o.envelopes, "qlik", "datastream", "debezium")
	list("formats", "json,avro", "formats of throughput", &o.formats, "json", "avro")
	list("mixes", strings.Join(mixes, ","), "contents of the tables of throughput", &o.mixes, mixes...)
	widths := flags.String("widths", "300,1400", "bytes of the rows of throughput")
	tables := flags.String("tables", "1,10,100,1000", "numbers of tables that the rows of tables are spread over")
	flags.IntVar(&o.rows, "rows", 100_000, "rows of a measurement; wide tables have half of them, the peer's a fifth")
	flags.IntVar(&o.repeat, "repeat", 3, "how often throughput of the first width and mix is measured; the median counts")
	flags.IntVar(&o.others, "others", 1, "the same for the other widths and mixes")
	flags.StringVar(&o.cost, "cost", "postgres", "engine of tables, transactions and columns")
	flags.DurationVar(&o.poll, "poll", 200*time.Millisecond, "source.poll_interval; the default is the bridge's")
	flags.BoolVar(&o.full, "full", false, "also what takes long: the transaction of five million rows")
	flags.BoolVar(&o.profiles, "profiles", false, "keep profiles of one more run of each throughput, table, transaction and column measurement beside the results")
	flags.StringVar(&o.out, "out", "bench-results", "folder of the results")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.widths, err = numbers(*widths, 200, 4000); err != nil {
		return o, fmt.Errorf("-widths: %w", err)
	}
	if o.tables, err = numbers(*tables, 1, 10_000); err != nil {
		return o, fmt.Errorf("-tables: %w", err)
	}
	if flags.NArg() > 0 || o.rows < 2 || o.repeat < 1 || o.others < 1 || !slices.Contains(engines, o.cost) {
		return o, fmt.Errorf("-rows is at least 2, -repeat and -others are 1, -cost an engine, and there are no arguments")
	}
	return o, nil
}

// numbers reads a list.
func numbers(list string, least, most int) (out []int, err error) {
	for _, one := range strings.Split(list, ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("%q is no number from %d to %d", one, least, most)
		}
		out = append(out, n)
	}
	return out, nil
}
