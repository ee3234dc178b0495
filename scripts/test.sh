#!/usr/bin/env bash
# npm test: everything that CI checks. Sets up what is missing, lints, runs the native tests (GoogleTest through ctest),
# the unit tests (tap) and the end-to-end tests (tap, test/e2e), and sums up in one last line.
#
#   npm test                       everything
#   npm test -- --no-e2e           without the end-to-end tests
#   npm test -- --only PATTERN     only tap files whose path matches the extended regular expression
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
e2e=1 only=
while [[ $# -gt 0 ]]; do
  case $1 in
    --no-e2e) e2e=0; shift ;;
    --only) only=${2:?--only needs a pattern}; shift 2 ;;
    *) echo "test.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
source "$here/common.sh"
bash "$here/setup.sh" full
mkdir -p "$log_dir"
passed=0 failed=0 skipped=0
failures=()

# check TITLE COMMAND [ARG ...]: one check, counted as one test.
check() {
  local title=$1 began=$SECONDS
  shift
  if "$@"; then
    passed=$((passed + 1))
    say "ok      $title ($((SECONDS - began)) s)"
  else
    failed=$((failed + 1))
    failures+=("$title")
    say "FAILED  $title ($((SECONDS - began)) s)"
  fi
}

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

run_ctest() {
  local file=$log_dir/ctest.log status=0 summary
  # One after the other: several serve cameras and controllers at fixed loopback addresses.
  ctest --test-dir build --output-on-failure --timeout 300 >"$file" 2>&1 || status=$?
  summary=$(grep -E '^[0-9]+% tests passed' "$file" || true)
  local fail total
  total=$(grep -oP 'out of \K[0-9]+' <<<"$summary" || echo 0)
  fail=$(grep -oP '[0-9]+(?= tests failed out)' <<<"$summary" || echo 0)
  if ((total == 0)); then
    total=1 fail=1
    tail -n 20 "$file"
  fi
  if ((fail > 0 || status != 0)); then
    tail -n 100 "$file"
    failures+=("native tests: $fail, see ${file#"$root"/}")
  fi
  passed=$((passed + total - fail)) failed=$((failed + fail))
  say "native tests: $((total - fail)) passed, $fail failed"
}

tap_files() { find "$1" -name '*.test.js' "${@:2}" 2>/dev/null | { grep -E "$only" || true; } | LC_ALL=C sort; }

if [[ -z $only ]]; then
  check "eslint, walls included" node_modules/.bin/eslint .
  check "prettier" node_modules/.bin/prettier --check --log-level warn .
  check "C++ format" bash "$here/lint-native.sh"
  check "C++ static checks" bash "$here/lint-native.sh" --tidy
  run_ctest
fi
mapfile -t unit < <(tap_files dist/test -not -path '*/e2e/*')
run_tap "unit tests" unit "${unit[@]}"
if ((e2e == 1)); then
  mapfile -t whole < <(tap_files dist/test/e2e)
  TAP_RCFILE=$here/e2e.taprc run_tap "end-to-end tests" e2e "${whole[@]}"
fi

for failure in "${failures[@]}"; do echo "FAILED  $failure"; done
say "everything took $((SECONDS - script_began)) s"
line="$passed passed, $failed failed"
((skipped == 0)) || line+=", $skipped skipped"
echo "$line"
((failed == 0 && passed > 0))
