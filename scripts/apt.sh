# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by scripts that take packages from the distribution's archive without installing them, after common.sh.
# They say with unavailable() why they cannot.

# use_backports FOLDER: from here on, apt-get and apt-cache of this shell and of its children know the release and its
# backports, from the mirror that this machine uses, and keep all that they write below FOLDER. The installed packages
# count as present. `release` is the release's name.
use_backports() {
  local mirror
  find_release
  mirror=$(list_archives | sed -n "s/^\([^ ]*\) $release .*/\1/p" | head -n 1)
  [ -n "$mirror" ] || unavailable "the apt sources of this machine name no mirror for $release"
  use_archives "$1" deb "$mirror $release main
$mirror $release-backports main"
}

# use_sources FOLDER: the same for the source packages of the release and of its updates.
use_sources() {
  local archives
  find_release
  archives=$(list_archives | grep -E "^[^ ]* $release(-updates|-security)? ") || unavailable "the apt sources of this machine name no mirror for $release"
  use_archives "$1" deb-src "$archives"
}

find_release() {
  have apt-get && have dpkg-deb || unavailable "this needs apt-get and dpkg-deb (Debian)"
  release=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  [ -n "$release" ] || unavailable "/etc/os-release names no release"
}

# Lines "URI SUITE COMPONENT" of the apt sources of this machine.
list_archives() {
  apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u
}

# use_archives FOLDER TYPE ARCHIVES: apt-get knows these archives alone (lines "URI SUITE COMPONENT"), as deb or deb-src.
use_archives() {
  local folder=$1 type=$2 archives=$3 keys=/usr/share/keyrings/debian-archive-keyring.gpg trust=
  mkdir -p "$folder"/{lists,archives}/partial
  if [ -e "$keys" ]; then trust="[signed-by=$keys] "; fi
  sed "s|^|$type $trust|" <<<"$archives" >"$folder/sources.list"
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
    unavailable "$type packages cannot be had from ${archives%% *}"
  }
}
