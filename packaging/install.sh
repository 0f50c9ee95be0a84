#!/bin/sh
# Installs a released sealward: the program, its man pages and completions.
#
# Usage: sh install.sh [--prefix FOLDER] [--version VERSION] [--from FOLDER-OR-URL]
#   --prefix   where it goes; /usr/local without it, or ~/.local for anybody but root
#   --version  which release; the newest without it
#   --from     where tarball and SHA256SUMS lie: a folder, or an https URL (default: the project's releases)
#
# Nothing is unpacked unless its SHA-256 is the one that SHA256SUMS states.
set -eu

fail() { echo "install.sh: $*" >&2; exit 2; }
prefix="" version="" from=""
while [ "$#" -gt 0 ]; do
    case "$1" in
        --prefix | --version | --from)
            [ "$#" -ge 2 ] || fail "$1 needs a value"
            case "$1" in --prefix) prefix="$2" ;; --version) version="$2" ;; --from) from="$2" ;; esac
            shift 2 ;;
        -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "$1 is no option; --help lists them" ;;
    esac
done
case "$version" in *[!0-9A-Za-z.-]*) fail "$version is no version" ;; esac
[ -n "$prefix" ] || { [ "$(id -u)" = 0 ] && prefix=/usr/local || prefix="$HOME/.local"; }
case "$(uname -s)-$(uname -m)" in
    Linux-x86_64 | Linux-aarch64) machine="linux-$(uname -m)" ;;
    *) fail "there is no released program for $(uname -s) on $(uname -m); build it from source" ;;
esac
command -v sha256sum > /dev/null || fail "sha256sum is missing; install coreutils"
packed=gz # every system has it
if command -v xz > /dev/null; then packed=xz; fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
releases="https://github.com/sealward/sealward/releases"
if [ -z "$from" ]; then
    if [ -n "$version" ]; then from="$releases/download/v$version"; else from="$releases/latest/download"; fi
fi
get() {
    case "$from" in
        https://*)
            if command -v curl > /dev/null; then curl -fsSL --proto '=https' --max-time 600 -o "$work/$1" "$from/$1"
            elif command -v wget > /dev/null; then wget -q --https-only --timeout=60 -O "$work/$1" "$from/$1"
            else fail "neither curl nor wget is here"; fi || fail "$from/$1 cannot be had" ;;
        *://*) fail "$from is no https URL" ;;
        *) cp "$from/$1" "$work/$1" 2> /dev/null || fail "there is no $1 in $from" ;;
    esac
}

get SHA256SUMS
name="$(sed -n "s/^[0-9a-f]\{64\}  \(sealward-${version:-[0-9.]*}-$machine\.tar\.$packed\)\$/\1/p" "$work/SHA256SUMS")"
case "$name" in
    "") fail "SHA256SUMS names no release${version:+ $version} for $machine" ;;
    *"
"*) fail "SHA256SUMS names several releases; choose one with --version" ;;
esac
get "$name"
(cd "$work" && grep "  $name\$" SHA256SUMS | sha256sum --check --status -) || fail "the SHA-256 of $name is not the one in SHA256SUMS; nothing was installed"
mkdir -p "$prefix" || fail "$prefix cannot be made; choose another one with --prefix"
mkdir "$work/tree"
tar -xf "$work/$name" -C "$work/tree" --strip-components=1 || fail "$name cannot be unpacked"
(cd "$work/tree" && sha256sum --check --status SHA256SUMS) || fail "a file in $name is not what its list says; nothing was installed"
"$work/tree/bin/sealward" --version > /dev/null 2>&1 || fail "the program does not run here; it needs glibc 2.34 (Debian 12, Ubuntu 22.04, RHEL 9 or newer)"
rm "$work/tree/SHA256SUMS"
# The program comes last and whole: one that is running cannot be written to, and can be replaced.
mv "$work/tree/bin/sealward" "$work/program"
new="$prefix/bin/sealward.new"
if ! { cp -R "$work/tree/." "$prefix/" && cp "$work/program" "$new" && mv -f "$new" "$prefix/bin/sealward"; }; then
    rm -f "$new"
    fail "$prefix cannot be written; choose another one with --prefix"
fi
echo "installed $prefix/bin/sealward $("$prefix/bin/sealward" --version)"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "add it to your path: export PATH=\"$prefix/bin:\$PATH\"" ;; esac
echo "try: sealward doctor, sealward ats check www.apple.com, sealward demo"
