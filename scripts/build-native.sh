#!/usr/bin/env bash
# Builds the native parts through cmake-js into build/. With --tests the GoogleTest programs too.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=OFF
[[ ${1:-} == --tests ]] && tests=ON
exec node_modules/.bin/cmake-js compile --out build --CDSURGICLAW_TESTS="$tests" --log-level warn --parallel 2
