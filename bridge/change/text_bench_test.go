package change

import "testing"

// BenchmarkText measures the texts of moments, both ways.
func BenchmarkText(b *testing.B) {
	var dst []byte
	date, moment := []byte("2031-05-10"), []byte("2031-05-10 16:00:01.604805")
	for name, do := range map[string]func(i int64) error{
		"append date":      func(i int64) (err error) { dst, err = AppendDate(dst[:0], i%maxDay); return err },
		"append date time": func(i int64) (err error) { dst, err = AppendDateTime(dst[:0], i*7919, 604805000, ' ', 6); return err },
		"parse date":       func(int64) error { _, err := ParseDate(date); return err },
		"parse date time":  func(int64) error { _, err := ParseDateTime(moment); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for i := int64(0); b.Loop(); i++ {
				if err := do(i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
