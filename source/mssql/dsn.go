package mssql

import (
	"crypto/tls"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"
)

var (
	errDSN    = errors.New("the DSN is neither a sqlserver:// URL nor a list of key=value; pairs that the driver takes")
	errIntent = errors.New("ApplicationIntent is neither ReadOnly nor ReadWrite")
	errNoBase = errors.New("ApplicationIntent=ReadOnly needs a database in the DSN")
)

// parseDSN reads a DSN in any of the driver's forms and sets what must not depend on it. Its errors never quote the DSN, which may show its
// password anywhere.
func parseDSN(dsn string) (msdsn.Config, error) {
	c, err := msdsn.Parse(dsn)
	if err == nil && c.Parameters[msdsn.Encrypt] == "" {
		c, err = msdsn.Parse(withEncryption(dsn))
	}
	if err != nil && c.Database == "" && strings.EqualFold(c.Parameters[msdsn.ApplicationIntent], "ReadOnly") {
		return msdsn.Config{}, errNoBase
	}
	if err != nil || c.Parameters[msdsn.Server] == "" {
		return msdsn.Config{}, errDSN
	}
	// The driver takes no other spelling than ReadOnly, and ignores every other value.
	switch intent := c.Parameters[msdsn.ApplicationIntent]; {
	case strings.EqualFold(intent, "ReadOnly") && c.Database == "":
		return msdsn.Config{}, errNoBase
	case strings.EqualFold(intent, "ReadOnly"):
		c.ReadOnlyIntent = true
	case intent != "" && !strings.EqualFold(intent, "ReadWrite"):
		return msdsn.Config{}, errIntent
	}
	if c.Parameters[msdsn.AppName] == "" {
		c.AppName = "ctbridge"
	}
	c.Encoding.Timezone = time.UTC    // wall clocks are read as they are
	c.Encoding.GuidConversion = false // decodeUUID does it
	c.LogFlags = 0                    // the driver would log statements and arguments
	c.ChangePassword = ""             // a reader changes nothing
	return c, nil
}

// secure makes the driver use a TLS configuration instead of what the DSN says.
func secure(c *msdsn.Config, with *tls.Config) {
	if with == nil {
		return
	}
	c.TLSConfig = with.Clone()
	if c.TLSConfig.ServerName == "" {
		c.TLSConfig.ServerName = c.Host
	}
	if c.Encryption != msdsn.EncryptionStrict {
		c.Encryption = msdsn.EncryptionRequired
	}
}

// Secured is the DSN with encryption asked for where it says nothing of it.
func Secured(dsn string) string {
	c, err := msdsn.Parse(dsn)
	if err != nil || c.Parameters[msdsn.Encrypt] != "" {
		return dsn
	}
	return withEncryption(dsn)
}

// withEncryption asks for what the DSN is silent about.
func withEncryption(dsn string) string {
	const name, value = msdsn.Encrypt, "true"
	if !strings.HasPrefix(dsn, "sqlserver://") {
		return strings.TrimRight(dsn, "; ") + ";" + name + "=" + value
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // Parse has taken it, so this cannot be
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}
