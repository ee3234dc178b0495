#!/usr/bin/env bash
# npm start: sets up what is missing, then runs twin and daemon together through one whole implantation.
#   npm start -- --seed 7 --summary summary.json
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
called_from=$PWD
sections=(start)
for argument in "$@"; do
  [[ $argument == zmq || $argument == --reasoner=zmq ]] && sections+=(zmq)
done
bash "$here/setup.sh" "${sections[@]}"
# npm changes to the project's root; file names on the command line mean the folder where the person typed it.
cd "${INIT_CWD:-$called_from}"
exec node "$here/../dist/src/cli/main.js" demo "$@"
