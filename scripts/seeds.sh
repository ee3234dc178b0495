#!/usr/bin/env bash
# npm run test:seeds: one whole implantation for each of seeds 1 to 10 (or those named), judged against the published
# thresholds. Results as a table here and as JSON, with every summary, in runs/seeds-<time>/.
#   npm run test:seeds            npm run test:seeds -- 3 7            SCENARIO=hard npm run test:seeds
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/common.sh"
bash "$here/setup.sh" start
seeds=("$@")
[[ ${#seeds[@]} -gt 0 ]] || mapfile -t seeds < <(seq 1 10)
folder=runs/seeds-$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p "$folder"
for seed in "${seeds[@]}"; do
  began=$SECONDS status=0
  options=(--seed "$seed" --summary "$folder/seed-$seed.json" --operator-timeout 5)
  [[ -z ${SCENARIO:-} ]] || options+=(--scenario "$SCENARIO")
  say "seed $seed ..."
  node dist/src/cli/main.js demo "${options[@]}" >"$folder/seed-$seed.log" 2>&1 </dev/null || status=$?
  printf '%s\n' "$status" >"$folder/seed-$seed.exit"
  say "seed $seed: exit $status after $((SECONDS - began)) s"
done
exec node scripts/seeds-table.mjs "$folder" "${seeds[@]}"
