#!/usr/bin/env bash
# npm run test:interop: programs that others wrote talk to the emulated devices and to our drivers. The Python ones live in
# a private environment below .venv/, made here with the versions of test/interop/requirements.txt.
#
#   npm run test:interop                      every peer
#   npm run test:interop -- --only PATTERN    only the peers whose path matches the extended regular expression
#   npm run test:interop -- --set-up          only fetches the programs that others wrote
#   npm run test:interop -- --write           also writes the table of docs/interop.md anew
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
only='' write=0 set_up=0
while [[ $# -gt 0 ]]; do
  case $1 in
    --only) only=${2:?--only needs a pattern}; shift 2 ;;
    --write) write=1; shift ;;
    --set-up) set_up=1; shift ;;
    *) echo "interop.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
source "$here/common.sh"
source "$here/tap-runs.sh"
bash "$here/setup.sh" full
log=$log_dir/interop.log
requirements=test/interop/requirements.txt
environment=$root/.venv/interop

# Every package is named with its version and nothing else is installed: a dependency that is missing shows as an import
# error of the peer, not as a version of its own choice.
install_peers() {
  rm -rf "$environment"
  python3 -m venv "$environment" &&
    "$environment/bin/pip" install --disable-pip-version-check --no-deps --requirement "$requirements"
}

stamp=$(python3 --version; cat "$requirements")
if [[ $(cat "$environment/stamp" 2>/dev/null) != "$stamp" ]]; then
  step "Python peers ($(grep -c == "$requirements") packages)" install_peers
  printf '%s\n' "$stamp" >"$environment/stamp"
fi

# Programs whose packages want much that they do not need (GTK) are unpacked instead of installed.
debian=$root/.venv/interop-debian
unpack_debian() {
  rm -rf "$debian" && mkdir -p "$debian/packages" && (
    cd "$debian/packages" && apt-get download "$@" &&
      for file in *.deb; do
        dpkg-deb --extract "$file" "$debian" &&
          dpkg-deb --field "$file" Version >"$debian/${file%%_*}.version"
      done
  )
}
[[ -x $debian/usr/bin/arv-camera-test-0.8 ]] || step "Debian programs (aravis-tools)" unpack_debian aravis-tools

((set_up == 0)) || exit 0

records=$root/runs/interop
[[ -n $only ]] || rm -rf "$records"
mkdir -p "$records"
mapfile -t files < <(tap_files dist/test/interop)
SURGICLAW_INTEROP_PYTHON=$environment/bin/python SURGICLAW_INTEROP_DEBIAN=$debian SURGICLAW_INTEROP_RECORDS=$records \
  TAP_RCFILE=$here/peers.taprc run_tap "interoperation" interop "${files[@]}"
if ((write == 1)); then
  node dist/test/interop/table.js --write "$records" docs/interop.md
  node_modules/.bin/prettier --write --log-level warn docs/interop.md
elif [[ -z $only ]] && ! node dist/test/interop/table.js --check "$records" docs/interop.md; then
  # Versions of Debian's programs differ between releases: no failure, but the table should say what runs today.
  say "docs/interop.md is not what just ran: npm run test:interop -- --write"
fi
sum_up
