#!/usr/bin/env bash
# Imports a SillyTavern folder into Clotho, exports it again as a SillyTavern folder, and asks the real SillyTavern
# whether both folders hold the same.
#
# 1. It installs the npm package `sillytavern` into a temporary folder.
# 2. SillyTavern itself makes the first folder: its default content, and characters, chats, groups, lorebooks, personas
#    and presets that a client sends to its HTTP API, as its page does. Then it reads all of it back.
# 3. `clotho import sillytavern` reads that folder into an empty data directory. `clotho export sillytavern --all` writes
#    a second folder.
# 4. SillyTavern is started with the second folder only, and reads it the same way. A table shows what is equal.
#
# The exit status is 1 if something differs that should not. docs/export.md lists the known differences.
# It is no part of CI: it needs npm's registry, a built Clotho, and about 600 MB of disk for a minute.
#
#   scripts/sillytavern-roundtrip.sh
#
# Settings, from the environment:
#   CLOTHO_BIN=target/debug/clotho   the program to test
#   SILLYTAVERN_VERSION=1.19.0       the version to install
#   SILLYTAVERN_DIR=                 an installed package (node_modules/sillytavern); nothing is installed then
#   KEEP=1                           keep the temporary folder and print its path
#
# Needs: bash, node 20 or newer, npm. Every server listens on 127.0.0.1 only, on a port that the system chose.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clotho=$(realpath "${CLOTHO_BIN:-$here/../target/debug/clotho}")
version=${SILLYTAVERN_VERSION:-1.19.0}
fail() { echo "sillytavern-roundtrip: $*" >&2; exit 2; }

[ -x "$clotho" ] || fail "no program at $clotho; build it, or set CLOTHO_BIN"
command -v node >/dev/null && command -v npm >/dev/null || fail "node and npm are needed"
work=$(mktemp -d)
if [ -n "${KEEP:-}" ]; then echo "kept: $work" >&2; else trap 'rm -rf "$work"' EXIT; fi

package=${SILLYTAVERN_DIR:-}
if [ -z "$package" ]; then
  echo "installing sillytavern@$version" >&2
  mkdir "$work/npm"
  echo '{"private": true}' >"$work/npm/package.json"
  # SillyTavern decodes no picture if its libraries are beside it instead of inside: see
  # findings/sillytavern_from_npm_reads_no_pictures.sh.
  (cd "$work/npm" &&
    npm install --silent --install-strategy=shallow --no-audit --no-fund --omit=dev "sillytavern@$version") ||
    fail "npm could not install sillytavern@$version"
  package=$work/npm/node_modules/sillytavern
fi

run_clotho() { (cd "$work" && CLOTHO_STORAGE__DATA_DIR=$work/clotho CLOTHO_LOG__LEVEL=warn "$clotho" "$@"); }

node "$here/sillytavern-roundtrip.mjs" prepare "$package" "$work/first"
run_clotho import sillytavern "$work/first/default-user" >"$work/import.txt"
mkdir "$work/second"
run_clotho export sillytavern --all "$work/second/default-user" >"$work/export.txt"
echo "$(run_clotho --version), $(date -u +%Y-%m-%d)"
node "$here/sillytavern-roundtrip.mjs" compare "$package" "$work/first" "$work/second"
