#!/usr/bin/env bash
# npm run test:faults: every fault mode of the devices and their links, switched on in the emulated cell, with the outcome
# that is right. Files named *.smoke.test.ts run in npm test as well.
#
#   npm run test:faults                      all
#   npm run test:faults -- --only PATTERN    only files whose path matches the extended regular expression
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
only=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --only) only=${2:?--only needs a pattern}; shift 2 ;;
    *) echo "faults.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
source "$here/common.sh"
source "$here/tap-runs.sh"
bash "$here/setup.sh" full
mkdir -p "$log_dir"
mapfile -t files < <(tap_files dist/test/faults)
TAP_RCFILE=$here/peers.taprc run_tap "faults" faults "${files[@]}"
sum_up
