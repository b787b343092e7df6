#!/usr/bin/env bash
# Fills a folder with the root file system of the image around a binary: rootfs.sh FOLDER BINARY
set -euo pipefail
root=$1 binary=$2

# Where Debian and Alpine, Fedora and SUSE keep the bundle of public certificate authorities.
for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem; do
	[ -s "$bundle" ] && break
done
[ -s "$bundle" ] || { echo "no bundle of certificate authorities here: install ca-certificates" >&2; exit 1; }

rm -rf "$root"
install -d -m 0755 "$root" "$root/etc" "$root/etc/ssl" "$root/etc/ssl/certs" "$root/etc/ctbridge" "$root/var" "$root/var/lib" "$root/var/lib/ctbridge"
install -d -m 1777 "$root/tmp"
install -m 0755 "$binary" "$root/ctbridge"
install -m 0644 "$(dirname "$0")/../../LICENSE" "$(dirname "$0")/../../THIRD_PARTY_LICENSES.md" "$root/"
install -m 0644 "$bundle" "$root/etc/ssl/certs/ca-certificates.crt"
printf 'ctbridge:x:65532:65532:ctbridge:/var/lib/ctbridge:/sbin/nologin\n' >"$root/etc/passwd"
printf 'ctbridge:x:65532:\n' >"$root/etc/group"
