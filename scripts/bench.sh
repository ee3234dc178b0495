#!/usr/bin/env bash
# npm run bench: how fast the hot paths are, each beside its anchor, interleaved in one run, as ratios. Tables here,
# JSON in runs/bench-<time>/. Times of different machines do not compare, ratios do; let nothing else run meanwhile.
#   npm run bench                   all of them
#   npm run bench -- geometry       one
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/common.sh"
known=(geometry gate stop lateness rtde serial frames world learner)
wanted=("$@")
[[ ${#wanted[@]} -gt 0 ]] || wanted=("${known[@]}")
for name in "${wanted[@]}"; do
  [[ " ${known[*]} " == *" $name "* ]] || { echo "bench.sh: there is no bench $name; there are: ${known[*]}" >&2; exit 2; }
done
bash "$here/setup.sh" full
folder=runs/bench-$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p "$folder"
for name in "${wanted[@]}"; do
  say "$name ..."
  case $name in
    gate | stop | lateness | serial | world) node "dist/test/bench/$name-bench.js" "$folder/$name.json" ;;
    frames)
      bash "$here/interop.sh" --set-up
      node dist/test/bench/frames-bench.js "$folder/frames.json"
      ;;
    rtde)
      bash "$here/interop.sh" --set-up
      node dist/test/bench/rtde-bench.js "$folder/rtde.json"
      ;;
    learner)
      requirements=test/bench/learner/requirements.txt environment=$root/.venv/learner-bench log=$log_dir/bench-learner.log
      stamp=$(python3 --version; cat "$requirements")
      if [[ $(cat "$environment/stamp" 2>/dev/null) != "$stamp" ]]; then
        install_learners() {
          rm -rf "$environment"
          python3 -m venv "$environment" &&
            "$environment/bin/pip" install --disable-pip-version-check --no-deps --requirement "$requirements"
        }
        step "stable-baselines3 and PyTorch (5 GB)" install_learners
        printf '%s\n' "$stamp" >"$environment/stamp"
      fi
      node dist/test/bench/learner-bench.js "$folder/learner.json"
      ;;
    *)
      "build/bin/$name-bench" >"$folder/$name.json"
      node scripts/bench-table.mjs "$folder/$name.json"
      ;;
  esac
done
say "results in $folder"
