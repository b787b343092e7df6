package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"fmt"
	"io"
	"testing"

	vendor "github.com/go-sql-driver/mysql"

	"ctbridge/bridge/fault"
)

// TestClassify goes by number, whatever the text, and whatever is wrapped around it.
func TestClassify(t *testing.T) {
	t.Parallel()
	server := map[fault.Class][]uint16{
		fault.Retry: {1205, 1213, 1040, 1203, 1226, 1053, 1927, 2006, 2013, 1317, 3024, 1969, 1461, 1615, 1412, 65000},
		fault.Table: {1146, 1054, 1142, 1143, 1356, 1064, 1932},
		fault.Fatal: {1044, 1045, 1049, 1130, 1698, 1862, 1820, 3118, 4151, 1251},
	}
	classify := classifier(true)
	for want, numbers := range server {
		for _, n := range numbers {
			err := fmt.Errorf("wrapped: %w", &vendor.MySQLError{Number: n, Message: "Lock wait timeout exceeded; Table doesn't exist"})
			if got, _ := classify(err); got != want {
				t.Errorf("%d is %s, want %s", n, got, want)
			}
		}
	}
	local := map[fault.Class][]error{
		fault.Retry: {driver.ErrBadConn, vendor.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF, vendor.ErrMalformPkt, vendor.ErrPktSync},
		fault.Fatal: {vendor.ErrNoTLS, vendor.ErrUnknownPlugin, vendor.ErrOldPassword, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}},
	}
	for want, errs := range local {
		for _, err := range errs {
			if got, _ := classify(fmt.Errorf("wrapped: %w", err)); got != want {
				t.Errorf("%v is %s, want %s", err, got, want)
			}
		}
	}
	for _, n := range []uint16{1044, 1049} {
		if got, _ := classifier(false)(&vendor.MySQLError{Number: n}); got != fault.Table {
			t.Errorf("%d without a database in the DSN is %s", n, got)
		}
	}
}
