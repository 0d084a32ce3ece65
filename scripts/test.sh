#!/usr/bin/env bash
# Runs every test of Clotho, and ends with a table of what ran, what was left out and why.
#
#   scripts/test.sh            everything
#   scripts/test.sh --quick    without the browser
#   --no-install               never install Debian packages
#
# Needs Rust and a C compiler. The page's types, format and build are checked with Node, the page itself in Chromium: on
# Debian and its like those are installed when they are missing and this runs as root or with a sudo that asks nothing;
# anywhere else a step that cannot run is named in the table and counts as left out, not as failed.
#
# Everything is built once, in the dev profile. The target folder is cargo's own, or CARGO_TARGET_DIR, or
# ~/.cache/clotho/target where ~/.cache/clotho is there already. CHROMIUM names another browser.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

quick=no
install=yes
for argument in "$@"; do
  case $argument in
    --quick) quick=yes ;;
    --no-install) install=no ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; exit 0 ;;
    *) echo "scripts/test.sh: unknown option $argument (see --help)" >&2; exit 2 ;;
  esac
done

cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/clotho
if [ -z "${CARGO_TARGET_DIR:-}" ] && [ -d "$cache" ]; then
  export CARGO_TARGET_DIR=$cache/target
fi
# Random tests walk the same way each time, so that a red run is the change's doing; another number explores.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20261121}
logs=$(mktemp -d) || exit 2
trap 'rm -rf "$logs"' EXIT

has() { command -v "$1" >/dev/null 2>&1; }

# --- what the table will say -----------------------------------------------------------------------------------------

rows=()
left_out=0
passed=0
failed=0
skipped=0
broken=0

row() { rows+=("$(printf '%-7s %5s  %-34s %s' "$1" "$2" "$3" "${4:-}")"); }

# leave_out TITLE WHY
leave_out() {
  printf '\n=== %s: left out, %s\n' "$1" "$2"
  row skipped - "$1" "$2"
  left_out=$((left_out + 1))
}

# run TITLE COUNTER COMMAND…: runs a step, shows what it prints, counts its tests, goes on whatever happens.
run() {
  local title=$1 counter=$2 began=$SECONDS status note
  shift 2
  printf '\n=== %s: %s\n' "$title" "$*"
  "$@" 2>&1 | tee "$logs/step"
  status=${PIPESTATUS[0]}
  LC_ALL=C sed $'s/\033\\[[0-9;]*[A-Za-z]//g' "$logs/step" >"$logs/plain"
  note=$("$counter" "$logs/plain")
  if [ "$status" -eq 0 ]; then
    row ok "$((SECONDS - began)) s" "$title" "$note"
  else
    row FAILED "$((SECONDS - began)) s" "$title" "${note:-exit status $status}"
    broken=$((broken + 1))
    what_failed "$title" >>"$logs/failed"
  fi
  # A counter prints "P passed, F failed, S skipped", or nothing.
  if [[ $note =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + BASH_REMATCH[3]))
  fi
  return "$status"
}

# what_failed TITLE: the faults among what a step printed, each with the lines that say why. They are told again at the end, for
# whoever sees only that.
what_failed() {
  printf '\n=== %s: what failed\n' "$1"
  awk '/^ *not ok/ || /panicked at/ || /^error/ { left = 16 } left-- > 0' "$logs/plain" | cut -c 1-400 | head -n 80
}

count_nothing() { :; }

# `Summary [ 1.2s] 21 tests run: 20 passed (1 slow), 1 failed, 0 skipped`
count_nextest() {
  awk '/^ *Summary \[/ {
    line = $0
    while (match(line, /[0-9]+ (passed|failed|skipped|timed out|exec failed)/)) {
      split(substr(line, RSTART, RLENGTH), part, " ")
      if (part[2] == "passed") p += part[1]; else if (part[2] == "skipped") s += part[1]; else f += part[1]
      line = substr(line, RSTART + RLENGTH)
    }
    seen = 1
  } END { if (seen) printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$1"
}

# `test result: ok. 17 passed; 4 failed; 1 ignored; …`, once for each binary
count_cargo() {
  awk '/^test result:/ { p += $4; f += $6; s += $8; seen = 1 }
    END { if (seen) printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$1"
}

# `ℹ pass 3` or `# pass 3`
count_node() {
  awk '$2 == "pass" { p = $3; seen = 1 } $2 == "fail" { f = $3 } $2 == "cancelled" { f += $3 } $2 == "skipped" { s = $3 }
    END { if (seen) printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$1"
}

# `12 passed, 0 failed`, the last line of `clotho plugin test`
count_plugins() {
  awk 'match($0, /[0-9]+ passed, [0-9]+ failed/) { split(substr($0, RSTART, RLENGTH), n, /[^0-9]+/); p = n[1]; f = n[2]; seen = 1 }
    END { if (seen) printf "%d passed, %d failed, 0 skipped\n", p, f }' "$1"
}

# --- what is needed ----------------------------------------------------------------------------------------------------

find_chromium() {
  local name
  # The headless shell has no windows and no bars around the page: a test takes three quarters of the processor time.
  for name in "${CHROMIUM:-}" chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome; do
    if [ -n "$name" ] && has "$name"; then
      command -v "$name"
      return
    fi
  done
}

has_chinese_font() { has fc-list && [ -n "$(fc-list :lang=zh family 2>/dev/null)" ]; }

missing_packages() {
  has cc || echo "gcc libc6-dev"
  if ! has node || ! has npm; then echo "nodejs npm"; fi
  if [ "$quick" = no ]; then
    [ -n "$(find_chromium)" ] || echo "chromium-headless-shell"
    has_chinese_font || echo "fontconfig fonts-noto-cjk"
  fi
}

apt() { # as root, one way or the other
  if [ "$(id -u)" -eq 0 ]; then
    DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"
  else
    sudo -n DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"
  fi
}

install_packages() {
  local wanted package
  read -ra wanted <<<"$(missing_packages | tr '\n' ' ')"
  [ "${#wanted[@]}" -gt 0 ] || return 0
  if [ "$install" = no ]; then
    echo "missing, and not installed because of --no-install: ${wanted[*]}"
  elif ! has apt-get; then
    echo "missing, and this is no Debian that could install them: ${wanted[*]}"
  elif [ "$(id -u)" -ne 0 ] && ! { has sudo && sudo -n true 2>/dev/null; }; then
    echo "missing, and this user may not install them (sudo apt-get install ${wanted[*]})"
  else
    echo "installing ${wanted[*]}"
    apt update
    # One by one if not all at once: a name that this release does not have must not keep the others away.
    apt install -y --no-install-recommends "${wanted[@]}" || for package in "${wanted[@]}"; do
      apt install -y --no-install-recommends "$package" || echo "could not install $package"
    done
    # Older releases have only the whole browser.
    [ "$quick" = yes ] || [ -n "$(find_chromium)" ] || apt install -y --no-install-recommends chromium
  fi
}

if ! has cargo; then
  echo "scripts/test.sh: cargo is missing. Install Rust first: https://rustup.rs" >&2
  exit 2
fi
install_packages
if ! has cc; then
  echo "scripts/test.sh: a C compiler is missing (Debian: apt-get install gcc libc6-dev)" >&2
  exit 2
fi

# --- the program ---------------------------------------------------------------------------------------------------------

if cargo fmt --version >/dev/null 2>&1; then
  run "formatting" count_nothing cargo fmt --all --check
else
  leave_out "formatting" "rustfmt is not installed (rustup component add rustfmt)"
fi

if cargo clippy --version >/dev/null 2>&1; then
  run "lints" count_nothing cargo clippy --locked --workspace --all-targets -- -D warnings
else
  leave_out "lints" "clippy is not installed (rustup component add clippy)"
fi

run "documentation of the code" count_nothing env RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

# Unit, property, HTTP, turn and provider tests, the store's story, the floors, and licences against deny.toml.
if cargo nextest --version >/dev/null 2>&1; then
  # Many tests wait for a clock or a disk: twice as many as cores keep the cores busy.
  threads=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) * 2))
  run "tests of the program" count_nextest cargo nextest run --locked --workspace --no-fail-fast --test-threads "$threads"
else
  run "tests of the program" count_cargo cargo test --locked --workspace --no-fail-fast
fi

# Not a failure, but worth a look now and then.
twice=$(cargo tree --locked --duplicates --depth 0 -e normal 2>/dev/null | sed -n 's/ v.*//p' | sort -u | tr '\n' ' ')
[ -z "$twice" ] || row note - "crates in two versions" "$twice"

target=$(cargo metadata --locked --no-deps --format-version 1 2>/dev/null | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
program=${target:-target}/debug/clotho
if run "the program itself" count_nothing cargo build --locked; then
  export CLOTHO_BIN=$program
  run "tests of the plugins" count_plugins "$program" plugin test --all plugins
else
  CLOTHO_BIN=
  leave_out "tests of the plugins" "the program was not built"
fi

# --- the page ------------------------------------------------------------------------------------------------------------

# fetch FOLDER TITLE…: installs what a folder's lock file names. Without a network the steps are left out; anything else
# that goes wrong is a fault of the lock file, and they failed.
fetch() {
  local folder=$1 log title
  shift
  log=$(cd "$folder" && npm ci --no-audit --no-fund 2>&1) && return
  printf '\n=== npm ci in %s\n%s\n' "$folder" "$log"
  for title in "$@"; do
    if grep -qE 'EAI_AGAIN|ENOTFOUND|ETIMEDOUT|ECONNREFUSED|ECONNRESET|ENETUNREACH|ERR_SOCKET_TIMEOUT' <<<"$log"; then
      leave_out "$title" "npm could not reach its registry"
    else
      row FAILED - "$title" "npm ci in $folder failed"
      broken=$((broken + 1))
    fi
  done
  return 1
}

# The tests of the page take the types out of its modules with what is installed there.
has_page_tools=no

# The newest syntax that the tools use needs it.
has_node() { has node && has npm && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ]; }

if ! has_node; then
  leave_out "types of the API" "Node 20 or newer and npm are missing"
  leave_out "types of the page" "Node 20 or newer and npm are missing"
  leave_out "format and lints of the page" "Node 20 or newer and npm are missing"
  leave_out "build of the page" "Node 20 or newer and npm are missing"
elif fetch tools/vendor "types of the API" "types of the page" "format and lints of the page" "build of the page"; then
  has_page_tools=yes
  # A test of the program compares docs/openapi.json with the server; this compares the types of the page with that file.
  run "types of the API" count_nothing npm --prefix tools/vendor run --silent wire:check
  run "types of the page" count_nothing npm --prefix tools/vendor run --silent types
  run "format and lints of the page" count_nothing npm --prefix tools/vendor run --silent lint
  run "build of the page" count_nothing npm --prefix tools/vendor run --silent check
fi

chromium=$(find_chromium)
if [ "$quick" = yes ]; then
  if has_node; then run "the page without a browser" count_node node --test tests/ui/static.test.mjs; fi
  leave_out "the page in a browser" "--quick"
elif ! has_node; then
  leave_out "the page in a browser" "Node 20 or newer and npm are missing"
elif [ -z "$chromium" ]; then
  leave_out "the page in a browser" "Chromium is missing"
elif [ -z "$CLOTHO_BIN" ]; then
  leave_out "the page in a browser" "the program was not built"
elif [ "$has_page_tools" = no ]; then
  leave_out "the page in a browser" "the tools of the page (tools/vendor) could not be installed"
elif fetch tests/ui "the page in a browser"; then
  export CHROMIUM=$chromium
  has_chinese_font || echo "no Chinese font is installed: Chinese text shows as boxes, which no test looks at"
  run "the page in a browser" count_node npm --prefix tests/ui run --silent test
fi

# --- the end ---------------------------------------------------------------------------------------------------------------

[ ! -e "$logs/failed" ] || cat "$logs/failed"
printf '\n%-7s %5s  %-34s %s\n' result time step notes
printf '%s\n' "${rows[@]}"
printf '\ntests: %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
if [ "$broken" -gt 0 ]; then
  echo "$broken of the steps failed."
  exit 1
elif [ "$passed" -eq 0 ]; then
  echo "No test ran."
  exit 1
fi
if [ "$left_out" -gt 0 ]; then
  echo "Everything that ran is in order; $left_out of the steps could not run here, the table says why."
else
  echo "Everything is in order."
fi
