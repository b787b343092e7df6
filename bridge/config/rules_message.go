package config

func (r *rules) checkQlik() {
	if !r.Qlik.BeforeImage && r.Qlik.DeleteRowIn != "data" {
		r.wrong("qlik.delete_row_in", "use data, or before_image: true", "is impossible with before_image false: beforeData would always be null")
	}
	r.checkRecordNames()
}
