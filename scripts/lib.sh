# shellcheck shell=bash
# Shared by the shell scripts here: where things are, how to say what went wrong, and Debian package
# sources of our own. Source it after `set -euo pipefail`.

# A failure inside $(...) ends that too.
shopt -s inherit_errexit

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034  # read by the scripts that source this file
CACHE=$ROOT/.cache

say() { printf 'benchstick: %s\n' "$*" >&2; }

# die WHAT: one clear line, exit 2 (bad input or missing tool).
die() {
    printf 'benchstick: error: %s\n' "$*" >&2
    exit 2
}

is_debian() { [ "$(. /etc/os-release 2>/dev/null && printf %s "${ID:-}")" = debian ]; }

# The machine's own Debian mirror, read from its apt sources at run time.
host_mirror() {
    # shellcheck disable=SC2016  # apt fills these in
    apt-get indextargets --format '$(REPO_URI)|$(LABEL)|$(COMPONENT)' 'Created-By: Packages' \
        2>/dev/null | awk -F'|' '$2 == "Debian" && $3 == "main" && !seen++ { print $1 }'
}

# own_apt NAME SUITE TYPE: an apt configuration apart from the host's, under .cache/apt-NAME, for one
# Debian suite; prints its path, to be used as `APT_CONFIG=PATH apt-get ...`. Its lists, caches and
# package state are its own: nothing is added to the host's sources.
own_apt() {
    local name=$1 suite=$2 type=$3 dir mirror keyring options=''
    dir=$CACHE/apt-$name
    mirror=$(host_mirror)
    if [ -z "$mirror" ]; then
        say "error: no Debian mirror among this machine's apt sources; run: apt-get update"
        return 1
    fi
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -e "$keyring" ] && options="[signed-by=$keyring] "
    mkdir -p "$dir/lists/partial" "$dir/archives/partial"
    : >"$dir/status"
    printf '%s %s%s %s main\n' "$type" "$options" "$mirror" "$suite" >"$dir/sources.list"
    # The host's Dir::Etc::parts stays in force: a proxy or a certificate set there is needed here too.
    cat >"$dir/apt.conf" <<CONF
Dir::State "$dir";
Dir::State::status "$dir/status";
Dir::State::lists "$dir/lists";
Dir::Cache "$dir";
Dir::Cache::archives "$dir/archives";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Languages "none";
APT::Sandbox::User "root";
CONF
    # Once more on failure: mirrors hiccup.
    if ! own_apt_get "$dir/apt.conf" update && ! own_apt_get "$dir/apt.conf" update; then
        say "error: apt-get update for $suite failed; its output is in $CACHE/apt.log"
        return 1
    fi
    printf '%s\n' "$dir/apt.conf"
}

# own_apt_get CONFIG ARGUMENT...: apt-get under one of our own configurations, its words in a log.
own_apt_get() {
    local config=$1
    shift
    APT_CONFIG=$config apt-get -q "$@" >>"$CACHE/apt.log" 2>&1
}
