package paper

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ctbridge/bridge/preflight"
)

// labelWidth is the width of the labels of a plan.
const labelWidth = 14

// Plan writes what a start would bring.
func Plan(w io.Writer, p *preflight.Plan, o Options) error {
	s := &sheet{color: o.Color}
	s.line(s.paint(bold, "plan of task "+p.Task) + ": nothing is written")
	for i := range p.Tables {
		s.table(&p.Tables[i])
	}
	if len(p.Topics)+len(p.Schemas) > 0 {
		s.heading("the task itself")
		for i := range p.Topics {
			s.topic("topic", &p.Topics[i])
		}
		for i := range p.Schemas {
			s.schema(&p.Schemas[i])
		}
	}
	if len(p.LeftOut) > 0 {
		s.heading("left out")
		for _, l := range p.LeftOut {
			s.block("  "+s.paint(yellow, l.Table)+"  ", len([]rune(l.Table))+4, plain, l.Why)
		}
	}
	if len(p.Unknown) > 0 {
		s.heading("not known")
		for _, u := range p.Unknown {
			s.block("  "+s.paint(yellow, "?")+" ", 4, plain, u)
		}
	}
	s.line()
	s.line(summary(p))
	return s.flush(w)
}

func (s *sheet) heading(text string) {
	s.line()
	s.line(s.paint(bold, text))
}

func (s *sheet) row(label, style, text string) {
	s.block("  "+pad(label, labelWidth), 2+labelWidth, style, text)
}

// summary counts what is new and what would be refused.
func summary(p *preflight.Plan) string {
	topics, loads := 0, 0
	all := slices.Clone(p.Schemas)
	for i := range p.Tables {
		if p.Tables[i].Load.Loads {
			loads++
		}
		for _, o := range p.Tables[i].Outputs {
			if !o.Topic.Exists && o.Topic.Settings != nil {
				topics++
			}
			all = append(all, o.Schemas...)
		}
	}
	schemas, refused := 0, 0
	for i := range all {
		switch {
		case all[i].State == preflight.SchemaKnown || all[i].State == "":
		case all[i].Compatible:
			schemas++
		default:
			refused++
		}
	}
	out := fmt.Sprintf("%s, %s, %s, %s", counted(len(p.Tables), "table"), counted(topics, "new topic"), counted(schemas, "new schema"), counted(loads, "full load"))
	if refused > 0 {
		out += fmt.Sprintf("; %s would be refused", counted(refused, "schema"))
	}
	return out
}

func (s *sheet) table(t *preflight.TablePlan) {
	s.heading(t.Table + "  (" + t.Changes + ")")
	switch {
	case t.VersionNow == 0:
		s.row("version", plain, fmt.Sprintf("%d, the table is new to the task", t.Version))
	case t.VersionNow == t.Version:
		s.row("version", plain, fmt.Sprintf("%d, unchanged", t.Version))
	default:
		s.row("version", yellow, fmt.Sprintf("%d → %d", t.VersionNow, t.Version))
		s.changes(t.Columns)
	}
	if t.Filter != "" {
		s.row("filter", plain, t.Filter)
	}
	start := t.Start.Kind
	if t.Start.Position != "" {
		start += " behind " + t.Start.Position
	}
	s.row("start", plain, start+" ("+t.Start.Why+")")
	load := "no: " + t.Load.Why
	if t.Load.Loads {
		load = "yes: " + t.Load.Why
		if t.Load.Rows > 0 {
			load += fmt.Sprintf("; about %d rows", t.Load.Rows)
		}
	}
	s.row("full load", plain, load)
	for i := range t.Outputs {
		s.output(&t.Outputs[i])
	}
}

// changes writes a difference, one line for each name.
func (s *sheet) changes(list []preflight.Change) {
	signs := map[string]struct{ sign, style string }{preflight.Added: {"+", green}, preflight.Removed: {"-", red}, preflight.Changed: {"~", yellow}}
	for _, c := range list {
		text := c.Path + "  " + c.Was + c.Is
		if c.Kind == preflight.Changed {
			text = c.Path + "  " + c.Was + " → " + c.Is
		}
		mark := signs[c.Kind]
		s.block(strings.Repeat(" ", 2+labelWidth)+s.paint(mark.style, mark.sign)+" ", 4+labelWidth, mark.style, text)
	}
}

func (s *sheet) output(o *preflight.OutputPlan) {
	s.row("output", bold, o.Output)
	if o.Problem != "" {
		s.row("", red, o.Problem)
		return
	}
	s.topic("topic", &o.Topic)
	s.row("key", plain, keyText(&o.Key))
	for i := range o.Schemas {
		s.schema(&o.Schemas[i])
	}
	for _, m := range o.Names {
		s.row("name", plain, m.What+" "+m.Name+" becomes "+m.As)
	}
}

func keyText(k *preflight.KeyPlan) string {
	out := k.Mode
	if len(k.Columns) > 0 {
		out += ": " + strings.Join(k.Columns, ", ")
	} else if k.Mode == "primary_key" || k.Mode == "columns" {
		out += ": the table has none, records have no key"
	}
	if k.Encoded {
		out += ", as a record"
	}
	return out
}

func (s *sheet) topic(label string, t *preflight.TopicPlan) {
	state := "exists"
	switch {
	case t.Problem != "":
		s.row(label, red, t.Name+": "+t.Problem)
		return
	case t.Settings == nil:
		s.row(label, plain, t.Name)
		return
	case !t.Exists:
		state = "new"
	}
	var settings []string
	for name, value := range t.Settings {
		if value == "-1" && !t.Exists && (name == "partitions" || name == "replication.factor") {
			value = "of the brokers"
		}
		settings = append(settings, name+" "+value)
	}
	slices.Sort(settings)
	s.row(label, plain, t.Name+", "+state+": "+strings.Join(settings, ", "))
}

func (s *sheet) schema(v *preflight.SchemaPlan) {
	text, style := v.Subject, plain
	switch {
	case v.State == "":
	case v.State == preflight.SchemaKnown:
		text += fmt.Sprintf(", registered with id %d", v.ID)
	case v.Compatible:
		text += ", " + v.State
		if v.Level != "" {
			text += ", compatible under " + v.Level
		}
	default:
		text, style = text+", "+v.State+", refused under "+v.Level, red
	}
	s.row(v.Part+" schema", style, text)
	for _, reason := range v.Reasons {
		s.row("", red, reason)
	}
	s.changes(v.Changes)
}
