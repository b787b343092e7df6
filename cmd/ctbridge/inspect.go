package main

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ctbridge/source/qlikct"
)

func (a *app) inspectCommand() *cobra.Command {
	return group("inspect", "Take apart what is hard to read", a.inspectSequenceCommand(), a.inspectMaskCommand())
}

func (a *app) inspectSequenceCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "seq CHANGE_SEQUENCE",
		Short:   "Split a change sequence into time and number",
		Example: "  ctbridge inspect seq 20230911032325000000000000000000005",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := qlikct.ParseSequence(strings.TrimSpace(args[0]))
			if err != nil {
				return usagef(cmd, "%w", err)
			}
			number := strings.TrimLeft(s.Number, "0")
			if number == "" {
				number = "0"
			}
			_, err = fmt.Fprintf(a.out, "time    %s UTC, to hundredths of a second\nnumber  %s\n", s.Time.Format("2006-01-02 15:04:05.00"), number)
			return err
		},
	}
}

// maskFlags are the options of inspect mask.
type maskFlags struct {
	columns []string
	message bool
	table   bool
	headers int
	order   string
}

func (a *app) inspectMaskCommand() *cobra.Command {
	var f maskFlags
	c := &cobra.Command{
		Use:   "mask HEX --columns a,b,c",
		Short: "Name the columns that a mask marks",
		Long: `Name the columns that a mask marks.

A message mask (changeMask, columnMask) is a number whose lowest bit is the first data column. A change-table mask (header__change_mask) also
counts the header columns, and its byte order differs between installations: auto shows what follows from the bits.`,
		Example: "  ctbridge inspect mask 0B --columns id,name,city,zip\n  ctbridge inspect mask 3a00 --table-mask --headers 7 --columns id,name,city,zip,a,b,c",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			mask, err := parseMask(args[0])
			if err == nil {
				err = f.check()
			}
			if err != nil {
				return usagef(cmd, "%w", err)
			}
			if f.table {
				return a.showTableMask(cmd, mask, f)
			}
			return a.showMessageMask(cmd, mask, f.columns)
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.columns, "columns", nil, "data columns of the table, in order")
	flags.BoolVar(&f.message, "message", false, "the mask is from a message (default)")
	flags.BoolVar(&f.table, "table-mask", false, "the mask is from a change table")
	flags.IntVar(&f.headers, "headers", 7, "with --table-mask: header columns that the change table has")
	flags.StringVar(&f.order, "byte-order", "auto", "with --table-mask: lsb, msb or auto")
	return c
}

func (f *maskFlags) check() error {
	switch {
	case len(f.columns) == 0:
		return fmt.Errorf("--columns is needed: the data columns in order, joined by commas")
	case f.message && f.table:
		return fmt.Errorf("--message and --table-mask exclude each other")
	case f.headers < 0:
		return fmt.Errorf("--headers %d is negative", f.headers)
	case f.order != "auto" && f.order != "lsb" && f.order != "msb":
		return fmt.Errorf("--byte-order %q is not one of lsb, msb, auto", f.order)
	}
	return nil
}

// parseMask reads hex digits, with or without 0x.
func parseMask(text string) ([]byte, error) {
	digits := strings.TrimSpace(text)
	if len(digits) > 1 && (digits[:2] == "0x" || digits[:2] == "0X") {
		digits = digits[2:]
	}
	if i := strings.IndexFunc(digits, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }); i >= 0 {
		return nil, fmt.Errorf("mask %q has a character at position %d that is no hex digit", text, i+1)
	}
	if len(digits)%2 != 0 {
		return nil, fmt.Errorf("mask %q has an odd number of hex digits (%d): two make a byte", text, len(digits))
	}
	return hex.DecodeString(digits)
}

// showMessageMask reads the mask as one most-significant-first number; bit n is column n+1.
func (a *app) showMessageMask(cmd *cobra.Command, mask []byte, columns []string) error {
	var marked []string
	for bit := range len(mask) * 8 {
		if mask[len(mask)-1-bit/8]&(1<<(bit%8)) == 0 {
			continue
		}
		if bit >= len(columns) {
			return usagef(cmd, "mask %X marks column %d, but --columns names %d", mask, bit+1, len(columns))
		}
		marked = append(marked, columns[bit])
	}
	if err := a.showMarked("", marked, len(columns)); err != nil {
		return err
	}
	if want := len(columns)/8 + 1; want != len(mask) {
		_, err := fmt.Fprintf(a.out, "note: a message mask over %d columns has %d bytes, this one has %d\n", len(columns), want, len(mask))
		return err
	}
	return nil
}

// showTableMask decodes in the order asked for, or in every order that is possible.
func (a *app) showTableMask(cmd *cobra.Command, mask []byte, f maskFlags) error {
	orders := []qlikct.ByteOrder{qlikct.ByteOrder(f.order)}
	if f.order == "auto" {
		orders = []qlikct.ByteOrder{qlikct.OrderLSB, qlikct.OrderMSB}
	}
	isHeader := make([]bool, f.headers+len(f.columns))
	for i := range f.headers {
		isHeader[i] = true
	}
	var problems []string
	for _, order := range orders {
		columns, err := qlikct.DecodeMask(mask, isHeader, order)
		if err != nil {
			problems = append(problems, fmt.Sprintf("as %s: %v", order, err))
			continue
		}
		var marked []string
		for i, name := range f.columns {
			if columns.Has(i) {
				marked = append(marked, name)
			}
		}
		if err := a.showMarked(string(order)+"  ", marked, len(f.columns)); err != nil {
			return err
		}
	}
	if len(problems) == len(orders) {
		return usagef(cmd, "the mask fits no byte order: %s", strings.Join(problems, "; "))
	}
	return nil
}

func (a *app) showMarked(label string, marked []string, of int) error {
	text := strings.Join(marked, ", ")
	if len(marked) == 0 {
		text = "none"
	}
	_, err := fmt.Fprintf(a.out, "%s%s (%d of %d columns)\n", label, text, len(marked), of)
	return err
}
