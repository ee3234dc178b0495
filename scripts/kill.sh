#!/usr/bin/env bash
# npm run test:kill -- --runs N --seed S: the kill campaign on the twin, N runs (20 without it). Kills, stalls, full disks
# and lost devices at random moments of procedures; the history of each is explained by an independent checker. The same
# seed repeats a campaign; without one it is drawn and printed. What each run was and what the checker found lies in
# runs/kill-<time>/, one JSON file a run.
#   npm run test:kill -- --runs 200 --seed 11 --from 87    goes on with one that was broken off
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
runs=20 from=1 seed=${SURGICLAW_SEED:-}
while [[ $# -gt 0 ]]; do
  case $1 in
    --runs) runs=${2:?--runs needs a number}; shift 2 ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    --from) from=${2:?--from needs a number}; shift 2 ;;
    *) echo "kill.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "kill.sh: --runs needs a number above 0" >&2; exit 2; }
[[ $from =~ ^[1-9][0-9]*$ ]] && ((from <= runs)) || { echo "kill.sh: --from needs a number of 1 to $runs" >&2; exit 2; }
[[ -n $seed || $from == 1 ]] || { echo "kill.sh: --from goes on with a campaign: name its --seed" >&2; exit 2; }
seed=${seed:-$RANDOM}
[[ $seed =~ ^[0-9]+$ ]] || { echo "kill.sh: --seed needs a number" >&2; exit 2; }
source "$here/common.sh"
bash "$here/setup.sh" full
folder=runs/kill-$(date -u +%Y%m%dT%H%M%SZ)
say "runs $from to $runs, seed $seed; each in $folder"
status=0
SURGICLAW_SEED=$seed SURGICLAW_KILL_RUNS=$runs SURGICLAW_KILL_FROM=$from SURGICLAW_KILL_FOLDER=$folder \
  TAP_RCFILE=$here/e2e.taprc node_modules/.bin/tap --reporter=tap --disable-coverage \
  --timeout=$(((runs - from + 2) * 300)) dist/test/e2e/kill-campaign.test.js || status=$?
say "$(cat "$folder/summary.txt" 2>/dev/null || echo 'no run came to its end')"
exit "$status"
