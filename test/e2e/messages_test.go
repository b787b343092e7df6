package e2e

import (
	"regexp"
	"strings"
	"testing"

	"ctbridge/test/qlikwriter"
)

// life is one row from insert to delete, its key changed on the way, with the masks of a change table with seven headers.
func (s *stand) life() {
	s.Helper()
	s.create("parcel")
	for _, r := range []qlikwriter.Row{
		{Seq: qlikwriter.Seq(1), Oper: "I", Tx: "t1", Mask: []byte{0x03, 0x80}, Values: []any{5, "new", "1.50"}},
		{Seq: qlikwriter.Seq(2), Oper: "B", Tx: "t2", Mask: []byte{}, Values: []any{5, "new", "1.50"}},
		{Seq: qlikwriter.Seq(2), Oper: "U", Tx: "t2", Mask: []byte{0x01, 0x00}, Values: []any{5, "sent", "1.50"}},
		{Seq: qlikwriter.Seq(3), Oper: "B", Tx: "t2", Mask: []byte{}, Values: []any{5, "sent", "1.50"}},
		{Seq: qlikwriter.Seq(3), Oper: "U", Tx: "t2", Mask: []byte{0x80}, Values: []any{6, "sent", "1.50"}},
		{Seq: qlikwriter.Seq(4), Oper: "D", Tx: "t3", Mask: []byte{0x80}, Values: []any{6, "sent", "1.50"}},
	} {
		s.db.Add(s, s.db.DB, qlikwriter.Parcel("parcel"), r)
	}
}

// values are the message values, one a line.
func (s *stand) values(n int, topics ...string) string {
	s.Helper()
	var b strings.Builder
	for _, m := range s.readTopics(n, topics...) {
		b.Write(append(m.Value, '\n'))
	}
	return b.String()
}

// The messages byte by byte, as the vendor's consumers read them.
func TestMessagesOnTheWire(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string]set{"enveloped": nil, "bare": {"qlik.envelope": "false"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.task = "orders"
			s.life()
			s.start(changes)
			golden(t, name+".jsonl", s.values(4, "orders.parcel"))
			moment := regexp.MustCompile(`"timestamp":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}"`)
			metadata := s.values(1, "orders.metadata")
			if !moment.MatchString(metadata) {
				t.Errorf("no moment in %s", metadata)
			}
			golden(t, name+"-metadata.jsonl", moment.ReplaceAllString(metadata, `"timestamp":"(now)"`))
		})
	}
}

// What each option makes of one row's life: key, operation, sequence, rows, changeMask/columnMask, counter, last flag.
func TestMessageOptions(t *testing.T) {
	t.Parallel()
	const (
		insert = "5 INSERT 1 +(fee=1.50 id=5 status=new) -null 07/07 #1 last"
		first  = "5 UPDATE 2 +(fee=1.50 id=5 status=sent) -(fee=1.50 id=5 status=new) 02/07 #1"
		second = "6 UPDATE 3 +(fee=1.50 id=6 status=sent) -(fee=1.50 id=5 status=sent) 01/07 #2 last"
		gone   = "6 DELETE 4 +(fee=1.50 id=6 status=sent) -null 01/07 #1 last"
	)
	for name, c := range map[string]struct {
		changes set
		want    []string
	}{
		"default":         {nil, []string{insert, first, second, gone}},
		"no before-image": {set{"qlik.before_image": "false"}, []string{insert, "5 UPDATE 2 +(fee=1.50 id=5 status=sent) -null 02/07 #1", "6 UPDATE 3 +(fee=1.50 id=6 status=sent) -null 01/07 #2 last", gone}},
		"row of a delete in beforeData": {set{"qlik.delete_row_in": "beforeData"}, []string{insert, first, second,
			"6 DELETE 4 +null -(fee=1.50 id=6 status=sent) 01/07 #1 last"}},
		"row of a delete in both": {set{"qlik.delete_row_in": "both"}, []string{insert, first, second,
			"6 DELETE 4 +(fee=1.50 id=6 status=sent) -(fee=1.50 id=6 status=sent) 01/07 #1 last"}},
		"key change in two": {set{"qlik.key_change": "delete_insert"}, []string{insert, first,
			"5 DELETE 3 +(fee=1.50 id=5 status=sent) -null 01/07 #2", "6 INSERT 3 +(fee=1.50 id=6 status=sent) -null 07/07 #3 last", gone}},
		"no envelope": {set{"qlik.envelope": "false"}, []string{insert, first, second, gone}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.life()
			s.start(c.changes)
			want(t, lines(t, s.read(len(c.want), "parcel")), c.want...)
		})
	}
}

// The options that add members, and where these stand.
func TestMembersByOption(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes      set
		has, lacking string
	}{
		"off":                {nil, `"message":{"data":{`, `"table"`},
		"name in headers":    {set{"qlik.include_source_name": "headers"}, `"transactionLastEvent":true,"schema":"","table":"parcel"}}}`, `{"schema"`},
		"name in message":    {set{"qlik.include_source_name": "message"}, `"message":{"schema":"","table":"parcel","data":{`, `,"table":"parcel"}`},
		"external schema id": {set{"qlik.external_schema_id": "true"}, `"columnMask":"07","externalSchemaId":"`, `"externalSchemaId":null`},
		"no external id":     {set{"qlik.external_schema_id": "false"}, `"columnMask":"07","transactionEventCounter"`, `externalSchemaId`},
		"other names": {set{"qlik.names.data": "now", "qlik.names.before_data": "then", "qlik.names.headers": "about"},
			`"message":{"now":{"id":5,"status":"new","fee":"1.50"},"then":null,"about":{"operation"`, `"data"`},
		"no metadata": {set{"qlik.metadata": "none"}, `"messageSchemaId":null,"messageSchema":null`, "MD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.task = "orders"
			s.life()
			s.start(c.changes)
			value := string(s.readTopics(1, "orders.parcel")[0].Value)
			if !strings.Contains(value, c.has) {
				t.Errorf("no %s in %s", c.has, value)
			}
			if strings.Contains(value, c.lacking) {
				t.Errorf("%s in %s", c.lacking, value)
			}
		})
	}
}

// The external schema id is the id of the metadata message.
func TestExternalSchemaID(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.life()
	s.start(set{"qlik.external_schema_id": "true", "qlik.envelope": "false"})
	headers := decodeJSON(t, s.read(1, "parcel")[0].Value)["headers"].(tree)
	metadata := decodeJSON(t, s.readTopics(1, s.task+".metadata")[0].Value)
	if id := headers["externalSchemaId"]; id == nil || id != metadata["schemaId"] {
		t.Errorf("external schema id %v, metadata of %v", id, metadata["schemaId"])
	}
}
