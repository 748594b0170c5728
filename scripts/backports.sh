# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by scripts that take packages from the distribution's backports without installing them, after common.sh.
# They say with unavailable() why they cannot.

# use_backports FOLDER: from here on, apt-get and apt-cache of this shell and of its children know the release and its
# backports, from the mirror that this machine uses, and keep all that they write below FOLDER. The installed packages
# count as present. `release` is the release's name.
use_backports() {
  local folder=$1 mirror suite keys=/usr/share/keyrings/debian-archive-keyring.gpg trust=
  have apt-get && have dpkg-deb || unavailable "this needs apt-get and dpkg-deb (Debian)"
  release=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  [ -n "$release" ] || unavailable "/etc/os-release names no release"
  mirror=$(apt-get indextargets --no-release-info --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    sed -n "s/^$release //p" | head -n 1)
  [ -n "$mirror" ] || unavailable "the apt sources of this machine name no mirror for $release"
  mkdir -p "$folder"/{lists,archives}/partial
  if [ -e "$keys" ]; then trust="[signed-by=$keys] "; fi
  for suite in "$release" "$release-backports"; do
    printf 'deb %s%s %s main\n' "$trust" "$mirror" "$suite"
  done >"$folder/sources.list"
  cat >"$folder/apt.conf" <<END
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$folder/lists";
Dir::Cache::archives "$folder/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Sandbox::User "root";
Debug::NoLocking "1";
APT::Install-Recommends "false";
Acquire::Retries "2";
APT::Update::Error-Mode "any";
END
  export APT_CONFIG=$folder/apt.conf
  apt-get -q -y update >"$folder/log" 2>&1 || {
    tail -n 5 "$folder/log" >&2
    unavailable "$release-backports cannot be had from $mirror"
  }
}
