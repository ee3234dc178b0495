#!/usr/bin/env bash
# npm run test:model: the model of who may move the cell (test/model/cell.pml). Every state with Debian's spin, variants that
# are broken on purpose, and 100,000 sequences drawn from it on the real state machine. About three minutes.
#   SURGICLAW_SEQUENCES=N and SURGICLAW_SEED=N change the length and the draw.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/common.sh"
bash "$here/setup.sh" full
SURGICLAW_SEQUENCES=${SURGICLAW_SEQUENCES:-100000} exec node_modules/.bin/tap --reporter=tap --disable-coverage \
  --timeout=3600 dist/test/model/cell-model.test.js
