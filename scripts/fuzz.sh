#!/usr/bin/env bash
# npm run fuzz: looks for inputs that break the native readers of foreign bytes (libFuzzer, AddressSanitizer,
# UndefinedBehaviorSanitizer). What it finds goes into test/native/fuzz/corpus, where the native tests replay it. Needs the
# Debian packages clang-14 and libclang-rt-14-dev, which npm test does not.
#
#   npm run fuzz                          a minute for each target
#   npm run fuzz -- --seconds N TARGET    N seconds for one (aries_lines, beat_reader, guardian_links, pixel_format)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
seconds=60
targets=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    -*) echo "fuzz.sh: unknown option $1" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
((${#targets[@]} > 0)) || targets=(aries_lines beat_reader guardian_links pixel_format)
compiler=$(command -v clang++-14 || command -v clang++) || die "clang is needed: apt-get install clang-14 libclang-rt-14-dev"
declare -A sources=(
  [guardian_links]="native/guardian/src/action_log.cc native/guardian/src/aries_links.cc native/guardian/src/needle_link.cc
    native/guardian/src/needle_modbus_link.cc native/guardian/src/write_now.cc native/realtime/src/clock.cc"
  [pixel_format]="native/grabber/src/pixel_format.cc"
)
log=$log_dir/fuzz.log
mkdir -p build/fuzz "$log_dir"
for target in "${targets[@]}"; do
  [[ -f test/native/fuzz/${target}_fuzz.cc ]] || die "there is no target $target"
  # shellcheck disable=SC2086
  step "$target: building" "$compiler" -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -Inative/{guardian,realtime,servo,grabber}/include -Itest/native/fuzz \
    "test/native/fuzz/${target}_fuzz.cc" ${sources[$target]:-} -o "build/fuzz/$target"
  corpus=test/native/fuzz/corpus/$target
  fresh=build/fuzz/corpus-$target
  mkdir -p "$corpus" "$fresh"
  step "$target: $seconds s" "build/fuzz/$target" -max_total_time="$seconds" -timeout=5 -max_len=1024 \
    -artifact_prefix="build/fuzz/broken-$target-" "$fresh" "$corpus"
  # What reaches code that the committed inputs do not is kept.
  step "$target: keeping what is new" "build/fuzz/$target" -set_cover_merge=1 "$corpus" "$fresh"
  say "$target: $(find "$corpus" -type f | wc -l) inputs"
done
