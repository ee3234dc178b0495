# Running test files with tap, counting what they say, and the closing lines. Sourced after common.sh, not run.
# shellcheck shell=bash
passed=0 failed=0 skipped=0
failures=() repeated=()
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

# tap_into FILE TEST ...: runs tests, one line as each ends, details of what failed, the whole TAP in FILE.
tap_into() {
  local file=$1 status=0
  shift
  node_modules/.bin/tap --reporter=tap --disable-coverage "$@" |
    tee "$file" | { grep --line-buffered -E '^(not )?ok ' || true; } || status=${PIPESTATUS[0]}
  if ((status != 0)); then
    awk '/^ +not ok / { on = 1 } on { print } /^ +\.\.\./ { on = 0 }' "$file" | head -n 200
  fi
  return "$status"
}

# run_tap TITLE NAME TEST ...: what failed is run once more by itself, since links and cameras live in real time and a machine
# that was busy elsewhere for a second proves nothing. The closing lines name what passed only then, the first TAP is kept, and
# scripts/hazards.mjs reads that one alone: a control of a hazard is not saved by a repetition.
run_tap() {
  local title=$1 file=$log_dir/$2.tap again=$log_dir/$2-again.tap status=0 before=$failed test
  shift 2
  (($# > 0)) || { say "$title: none"; return; }
  say "$title: $# files"
  tap_into "$file" "$@" || status=$?
  count_tap "$title" "$file" "$status"
  ((status != 0)) || return 0
  mapfile -t culprits < <(sed -nE 's/^not ok [0-9]+ - (\S+\.test\.js).*/\1/p' "$file")
  # Many failures are no accident, and a run that broke off has none to its name.
  ((${#culprits[@]} > 0 && ${#culprits[@]} <= 3)) || return 0
  say "$title: once more, ${#culprits[@]} of $# files"
  tap_into "$again" "${culprits[@]}" || return 0
  for test in "${culprits[@]}"; do repeated+=("$test, see ${file#"$root"/}"); done
  failed=$before
  unset 'failures[-1]'
}

tap_files() { find "$1" -name '*.test.js' "${@:2}" 2>/dev/null | { grep -E "$only" || true; } | LC_ALL=C sort; }

# sum_up: the failures by name and one last line of counts. False when anything failed or nothing ran.
sum_up() {
  local failure test line
  for test in "${repeated[@]}"; do echo "REPEATED  $test"; done
  for failure in "${failures[@]}"; do echo "FAILED  $failure"; done
  say "everything took $((SECONDS - script_began)) s"
  line="$passed passed, $failed failed"
  ((${#repeated[@]} == 0)) || line+=", ${#repeated[@]} files passed only when repeated"
  ((skipped == 0)) || line+=", $skipped skipped"
  echo "$line"
  ((failed == 0 && passed > 0))
}
