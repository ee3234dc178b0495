# Running test files with tap, counting what they say, and the closing lines. Sourced after common.sh, not run.
# shellcheck shell=bash
passed=0 failed=0 skipped=0
failures=()
only=${only:-}

# Adds the counts of a TAP file to the sum. A run that broke off before its summary counts as one failure more.
count_tap() {
  local title=$1 file=$2 status=$3 counts pass fail skip
  counts=$(sed -n 's/^# { total: .*}$/&/p' "$file" | tail -n 1)
  pass=$(grep -oP 'pass: \K[0-9]+' <<<"$counts" || echo 0)
  fail=$(grep -oP 'fail: \K[0-9]+' <<<"$counts" || echo 0)
  skip=$(grep -oP '(skip|todo): \K[0-9]+' <<<"$counts" | awk '{ sum += $1 } END { print sum + 0 }' || true)
  if ((status != 0 && fail == 0)); then fail=1; fi
  passed=$((passed + pass)) failed=$((failed + fail)) skipped=$((skipped + ${skip:-0}))
  if ((fail > 0)); then failures+=("$title: $fail, see ${file#"$root"/}"); fi
  say "$title: $pass passed, $fail failed"
}

# run_tap TITLE NAME FILE ...: one line per test file as it ends, details of what failed, the whole TAP in a file.
run_tap() {
  local title=$1 file=$log_dir/$2.tap status=0
  shift 2
  (($# > 0)) || { say "$title: none"; return; }
  say "$title: $# files"
  node_modules/.bin/tap --reporter=tap --disable-coverage "$@" |
    tee "$file" | awk '/^(not )?ok / { print; fflush() }' || status=${PIPESTATUS[0]}
  if ((status != 0)); then
    awk '/^ +not ok / { on = 1 } on { print } /^ +\.\.\./ { on = 0 }' "$file" | head -n 200
  fi
  count_tap "$title" "$file" "$status"
}

tap_files() { find "$1" -name '*.test.js' "${@:2}" 2>/dev/null | { grep -E "$only" || true; } | LC_ALL=C sort; }

# sum_up: the failures by name and one last line of counts. False when anything failed or nothing ran.
sum_up() {
  local failure line
  for failure in "${failures[@]}"; do echo "FAILED  $failure"; done
  say "everything took $((SECONDS - script_began)) s"
  line="$passed passed, $failed failed"
  ((skipped == 0)) || line+=", $skipped skipped"
  echo "$line"
  ((failed == 0 && passed > 0))
}
