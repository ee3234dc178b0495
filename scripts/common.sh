# Shared by the scripts: where things lie, elapsed times, steps with a kept log. Sourced, not run.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
log=/dev/null # each script names its own
log_dir=${SURGICLAW_LOG_DIR:-$root/runs/logs}
script_began=$SECONDS

elapsed() { printf '%4d s' $((SECONDS - script_began)); }
say() { printf '[%s] %s\n' "$(elapsed)" "$*"; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# step TITLE COMMAND [ARG ...]: runs the command with its output in $log, shows that it lives, and on failure shows the
# end of the log. Exits with the status of the command.
step() {
  local title=$1 began=$SECONDS status=0 job shown=$SECONDS
  shift
  mkdir -p "$log_dir"
  printf '== %s: %s\n' "$(date -u +%FT%TZ)" "$*" >>"$log"
  say "$title ..."
  "$@" >>"$log" 2>&1 </dev/null &
  job=$!
  # A background job of a script ignores Ctrl-C; what was begun must not go on by itself.
  trap 'kill "$job" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$job" 2>/dev/null; do
    sleep 0.2
    if [[ -t 1 ]]; then
      printf '\r         %s, %d s  ' "$title" $((SECONDS - began))
    elif ((SECONDS - shown >= 20)); then
      shown=$SECONDS
      say "$title, $((SECONDS - began)) s so far"
    fi
  done
  wait "$job" || status=$?
  trap - INT TERM
  [[ -t 1 ]] && printf '\r\033[K'
  if ((status != 0)); then
    say "$title failed (exit $status). The end of $log:" >&2
    tail -n 30 "$log" | sed 's/^/    /' >&2
    exit "$status"
  fi
  say "$title: done in $((SECONDS - began)) s"
}

# tree_stamp PATH ...: one hash over names, sizes and modification times; quick, and changes whenever a file does.
tree_stamp() {
  find "$@" -type f -printf '%p %s %T@\n' 2>/dev/null | LC_ALL=C sort | sha256sum | cut -d' ' -f1
}
