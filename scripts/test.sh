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
source "$here/tap-runs.sh"

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

if [[ -z $only ]]; then
  check "eslint, walls included" node_modules/.bin/eslint .
  check "prettier" node_modules/.bin/prettier --check --log-level warn .
  check "C++ format" bash "$here/lint-native.sh"
  check "C++ static checks" bash "$here/lint-native.sh" --tidy
  run_ctest
fi
mapfile -t unit < <(
  tap_files dist/test -not -path '*/e2e/*' -not -path '*/interop/*' -not -path '*/faults/*'
  tap_files dist/test/faults -name '*.smoke.test.js'
)
run_tap "unit tests" unit "${unit[@]}"
if ((e2e == 1)); then
  mapfile -t whole < <(tap_files dist/test/e2e)
  TAP_RCFILE=$here/e2e.taprc run_tap "end-to-end tests" e2e "${whole[@]}"
fi

if [[ -z $only ]]; then
  without=()
  ((e2e == 1)) || without=(--no-e2e)
  check "every control of a hazard has a passing test" node scripts/hazards.mjs "$log_dir" "${without[@]}"
fi
sum_up
