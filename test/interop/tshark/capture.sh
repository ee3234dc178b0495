#!/usr/bin/env bash
# capture.sh FILE COMMAND [ARG ...]: runs the command with the loopback network of its own and writes what passes there
# to FILE. An ordinary user gets the right to do so inside a user namespace.
set -euo pipefail
if [[ ${IN_NAMESPACE:-} != yes ]]; then
  flags=-n
  ((EUID == 0)) || flags=-Urn
  IN_NAMESPACE=yes exec unshare "$flags" "$0" "$@"
fi
file=$1
shift
ip link set lo up
dumpcap -q -i lo -w "$file" 2>"$file.log" &
capture=$!
trap 'kill "$capture" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
  [[ -s $file ]] && break
  kill -0 "$capture" 2>/dev/null || { cat "$file.log" >&2; exit 1; }
  sleep 0.1
done
"$@"
# The last packets are written a moment after they passed.
sleep 1
kill -INT "$capture"
wait "$capture" || true
