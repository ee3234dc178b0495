#!/usr/bin/env bash
# npm run test:property: the property tests at full length. A million mutated replies, and the metamorphic properties of the
# gate; npm test runs a share of them. SURGICLAW_SEED=N repeats a run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/common.sh"
bash "$here/setup.sh" full
mapfile -t files < <(find dist/test/property -name '*.test.js' | LC_ALL=C sort)
SURGICLAW_PROPERTY_SHARE=${SURGICLAW_PROPERTY_SHARE:-50} exec node_modules/.bin/tap --reporter=tap --disable-coverage \
  --timeout=1200 "${files[@]}"
