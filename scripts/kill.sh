#!/usr/bin/env bash
# npm run test:kill -- --runs N --seed S: the kill campaign on the twin, N runs (20 without it). Kills, stalls, full disks
# and lost devices at random moments of procedures; the history of each is explained by an independent checker. The same
# seed repeats a campaign; without one it is drawn and printed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
runs=20
seed=${SURGICLAW_SEED:-$RANDOM}
while [[ $# -gt 0 ]]; do
  case $1 in
    --runs) runs=${2:?--runs needs a number}; shift 2 ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    *) echo "kill.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "kill.sh: --runs needs a number above 0" >&2; exit 2; }
[[ $seed =~ ^[0-9]+$ ]] || { echo "kill.sh: --seed needs a number" >&2; exit 2; }
source "$here/common.sh"
bash "$here/setup.sh" full
export SURGICLAW_SEED=$seed
SURGICLAW_KILL_RUNS=$runs TAP_RCFILE=$here/e2e.taprc exec node_modules/.bin/tap --reporter=tap --disable-coverage \
  --timeout=$(((runs + 1) * 300)) dist/test/e2e/kill-campaign.test.js
