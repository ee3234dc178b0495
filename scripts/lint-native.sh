#!/usr/bin/env bash
# Format of the C++ sources (--fix formats in place), or with --tidy the static checks.
#
# Versions of clang-format disagree about details, so only version 14 (Debian 12) judges; elsewhere this says so and
# passes. clang-tidy needs the native build of `setup.sh full` (build/compile_commands.json); --tidy checks the parts that
# may move or stop something, --tidy-all every native library (minutes).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
pinned=14
tidy_parts='realtime|servo|guardian'

# find_tool NAME: the tool in the pinned version, or nothing.
find_tool() {
  local candidate
  for candidate in "$1-$pinned" "$1"; do
    if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version $pinned\."; then
      echo "$candidate"
      return
    fi
  done
}

mapfile -t sources < <(find native test/native test/bench -type f \( -name '*.cc' -o -name '*.h' \) 2>/dev/null | LC_ALL=C sort)
[[ ${#sources[@]} -gt 0 ]] || die "no C++ sources found"

case ${1:-} in
  "" | --fix)
    tool=$(find_tool clang-format)
    if [[ -z $tool ]]; then
      say "clang-format $pinned is not here: the C++ format is not checked"
    elif [[ ${1:-} == --fix ]]; then
      "$tool" -i "${sources[@]}"
    else
      "$tool" --dry-run --Werror "${sources[@]}"
      say "clang-format: ${#sources[@]} files as they should be"
    fi
    ;;
  --tidy | --tidy-all)
    [[ $1 == --tidy ]] || tidy_parts='[^/]+'
    tool=$(find_tool clang-tidy)
    if [[ -z $tool ]]; then
      say "clang-tidy $pinned is not here: no static checks of C++"
      exit 0
    fi
    [[ -f build/compile_commands.json ]] || die "build/compile_commands.json is missing: run scripts/setup.sh full"
    # A file is checked again only when it, a header of ours or the checks changed.
    stamps=build/tidy
    mkdir -p "$stamps"
    headers=$(find native -name '*.h' -exec cat {} + | cat - .clang-tidy | sha256sum | cut -d' ' -f1)
    checked=()
    for source in "${sources[@]}"; do
      [[ $source =~ ^native/($tidy_parts)/.*\.cc$ ]] || continue
      key=$( { sha256sum <"$source"; echo "$headers"; } | sha256sum | cut -d' ' -f1)
      [[ -f $stamps/$key ]] || checked+=("$source:$key")
    done
    ((${#checked[@]} > 0)) || { say "clang-tidy: nothing changed"; exit 0; }
    say "clang-tidy: ${#checked[@]} files"
    # shellcheck disable=SC2016
    printf '%s\0' "${checked[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c '
      source=${3%:*} key=${3##*:}
      "$1" -p build --quiet --warnings-as-errors="*" "$source" 2>/dev/null && touch "$2/$key"' _ "$tool" "$stamps"
    ;;
  *) die "unknown option $1 (--fix, --tidy or --tidy-all)" ;;
esac
