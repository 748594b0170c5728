# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A Debian of this machine's release with nothing but what is asked for, in a folder; to be sourced by tests.

skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "FAILED: $*"
  exit 1
}

[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "no debootstrap (Debian: debootstrap)"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
# mirror SUITE: where the machine has it from
mirror() {
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 2>/dev/null |
    awk -v suite="$1" '$1 == suite && $2 == "main" {print $3; exit}'
}
[ -n "$(mirror "$suite")" ] || skip "apt-get knows no mirror of this machine's release"

# fresh_debian FOLDER PACKAGES: makes FOLDER/root, which is removed at the end; "inside COMMANDS" runs commands there
fresh_debian() {
  local where=$1 packages=$2 from one
  from=$(mirror "$suite")
  root=$where/root
  trap 'rm -rf "$root"' EXIT
  debootstrap --variant=minbase ${packages:+"--include=$packages"} "$suite" "$root" "$from" >"$where/debootstrap.log" 2>&1 ||
    { tail -n 5 "$where/debootstrap.log" && skip "debootstrap got no Debian from $from"; }
  for one in "$suite-updates" "$suite-security"; do
    if [ -n "$(mirror "$one")" ]; then echo "deb $(mirror "$one") $one main" >>"$root/etc/apt/sources.list"; fi
  done
}
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -euc "$1"; }
