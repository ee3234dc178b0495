#!/usr/bin/env bash
# Installs and builds what is missing, and is quick when nothing is.
#
#   setup.sh start        what the programs need (npm start does this by itself)
#   setup.sh start zmq    the same, and what the example reasoner worker in Python needs
#   setup.sh full         what tests and linters need too (npm test does this by itself)
#
# Debian packages come through apt-get (with sudo unless root), npm packages through `npm ci` with no install script
# run, then the TypeScript and the native parts are built. Everything is logged under runs/logs/.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mode=${1:-}
[[ $mode == start || $mode == full ]] || die "say which: setup.sh start [zmq] | full"
wanted_sections=("$@")
log=$log_dir/setup-$mode.log

check_node() {
  command -v node >/dev/null || die "Node.js 20 or newer is needed: install it first"
  command -v npm >/dev/null || die "npm is needed: install it first (Debian: apt-get install npm)"
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  ((major >= 20)) || die "Node.js 20 or newer is needed, this is $(node --version)"
}

# Prints "package<TAB>why" for each wanted package that dpkg does not have.
missing_packages() {
  local section package why present
  present=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
  while read -r section package why; do
    [[ -z $section || $section == \#* ]] && continue
    [[ $section == start || " ${wanted_sections[*]} " == *" $section "* ]] || continue
    grep -qxF "$package" <<<"$present" || printf '%s\t%s\n' "$package" "$why"
  done <"$root/scripts/debian-packages.txt" | sort -u -k1,1
}

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian: install the equivalents of scripts/debian-packages.txt yourself if the build fails"
    return
  fi
  local missing names as_root=()
  missing=$(missing_packages)
  [[ -n $missing ]] || return 0
  mapfile -t names < <(cut -f1 <<<"$missing")
  say "installing ${#names[@]} Debian packages and what they depend on:"
  awk -F'\t' '{ printf "           %-26s %s\n", $1, $2 }' <<<"$missing"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "neither root nor sudo: ask for 'apt-get install ${names[*]}'"
    as_root=(sudo)
    # Asks for the password here, where a person can see it, and not behind the progress line.
    sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; } ||
      die "sudo is not permitted: ask for 'apt-get install ${names[*]}'"
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600)
  step "Reading the package lists" "${apt[@]}" update -q
  step "Installing Debian packages" "${apt[@]}" install -y -q --no-install-recommends "${names[@]}"
}

# The stamp names the lock file it was made from and whether the development packages are there.
install_npm_packages() {
  local lock stamp=node_modules/.surgiclaw-installed kind=start flags=(--omit=dev)
  lock=$(sha256sum package-lock.json | cut -d' ' -f1)
  if [[ $mode == full || -x node_modules/.bin/tap ]]; then
    kind=full
    flags=()
  fi
  if [[ -f $stamp ]]; then
    local have
    have=$(<"$stamp")
    [[ $have == "$kind $lock" || $have == "full $lock" ]] && return
  fi
  # No install script is run: zeromq and serialport carry their binaries, and ours is the native build below.
  step "Installing npm packages" npm ci --ignore-scripts --no-audit --no-fund "${flags[@]}"
  step "Loading zeromq and serialport" node -e 'require("zeromq"); require("serialport")'
  printf '%s %s\n' "$kind" "$lock" >"$stamp"
}

# npx looks for a command of a checkout in node_modules/.bin; a "bin" entry of the root package itself would make it
# install the checkout into its cache instead, which fails or builds everything anew.
link_commands() {
  local name
  for name in surgiclaw surgiclawd; do
    [[ -L node_modules/.bin/$name ]] || ln -sfn "../../scripts/bin/$name" "node_modules/.bin/$name"
  done
}

# Removes outputs whose source is gone, so that a deleted test is not run for ever.
remove_orphans() {
  local output source
  [[ -d dist ]] || return 0
  while IFS= read -r output; do
    source=${output#dist/}
    source=${source%.js}.ts
    [[ -f $source ]] || rm -f "$output" "$output.map" "${output%.js}.d.ts"
  done < <(find dist/src dist/test -name '*.js' 2>/dev/null)
}

compile_typescript() {
  local folders=(src) project=(tsconfig.src.json) stamp=dist/.compiled-start now
  if [[ $mode == full ]]; then
    folders=(src test)
    project=()
    stamp=dist/.compiled-full
  fi
  now=$(tree_stamp "${folders[@]}" tsconfig*.json package-lock.json)
  [[ -f $stamp && $(<"$stamp") == "$now" ]] && return
  remove_orphans
  step "Compiling TypeScript" node_modules/.bin/tsc -b "${project[@]}"
  printf '%s\n' "$now" >"$stamp"
}

build_native() {
  local folders=(native) flags=() stamp=build/.built-start now
  if [[ $mode == full ]]; then
    folders=(native test/native test/bench)
    flags=(--tests)
    stamp=build/.built-full
  fi
  now=$(tree_stamp "${folders[@]}" CMakeLists.txt scripts/build-native.sh package-lock.json)
  [[ -f $stamp && $(<"$stamp") == "$now" && -d build/addons ]] && return
  step "Building the native parts" bash scripts/build-native.sh "${flags[@]}"
  printf '%s\n' "$now" >"$stamp"
}

# Solvers of some calibrations: built once, by itself where the system lets it be built at all.
build_opencv4nodejs() {
  [[ $mode == full ]] || return 0
  bash scripts/build-opencv4nodejs.sh
}

check_node
install_packages
install_npm_packages
link_commands
compile_typescript
build_native
build_opencv4nodejs
if ((SECONDS - script_began > 2)); then say "set-up complete; log: ${log#"$root"/}"; fi
