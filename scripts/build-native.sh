#!/usr/bin/env bash
# Builds the native parts through cmake-js into build/. With --tests the GoogleTest programs too; once configured with
# them, a plain build keeps them, so that npm start after npm test does not build everything anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tests=OFF
[[ ${1:-} == --tests ]] && tests=ON
grep -qs '^SURGICLAW_TESTS:[A-Z]*=ON' build/CMakeCache.txt && tests=ON
options=(--out build --CDSURGICLAW_TESTS="$tests" --CDCMAKE_EXPORT_COMPILE_COMMANDS=ON --log-level warn)
node_modules/.bin/cmake-js configure "${options[@]}"
exec node_modules/.bin/cmake-js build "${options[@]}" --parallel "$(nproc)"
