#!/usr/bin/env bash
# Builds opencv4nodejs, with which the lab's calibrations find targets and solve, into build/opencv4nodejs/: against Debian's
# OpenCV, of which only the modules named below are used, so that neither a window system nor video is needed. Its own
# install script would build a whole OpenCV and is not run. Quick when nothing has changed; the full set-up runs it.
#
# It needs the headers of the very Node.js in use: from npm_config_nodedir, from where node itself lies (a release or a
# version manager), or from /usr (Debian's libnode-dev, NodeSource). Without them, or when the build fails, it says so, keeps
# the reason in build/opencv4nodejs/.absent and ends well: nothing but some of `surgiclaw calibrate` depends on it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
log=$log_dir/opencv4nodejs.log
folder=$root/build/opencv4nodejs
package=$folder/node_modules/@u4/opencv4nodejs
multiarch=$(g++ -print-multiarch)

without() {
  mkdir -p "$folder"
  printf '%s\n' "$1" >"$folder/.absent"
  say "without opencv4nodejs: $1"
  say "  surgiclaw calibrate camera, stereo and focus will not work; after mending it: bash scripts/build-opencv4nodejs.sh"
  exit 0
}

# Prints the folder whose include/node holds the headers of this Node.js.
node_headers() {
  local version place
  version=$(node -p 'process.versions.node')
  for place in "${npm_config_nodedir:-}" "$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")" /usr; do
    [[ -n $place && -f $place/include/node/node_version.h ]] || continue
    # shellcheck disable=SC2016
    if [[ $(awk '/^#define NODE_(MAJOR|MINOR|PATCH)_VERSION/ { printf "%s%s", dot, $3; dot = "." }' \
      "$place/include/node/node_version.h") == "$version" ]]; then
      printf '%s\n' "$place"
      return 0
    fi
  done
  return 1
}

now=$(
  {
    cat "$root"/scripts/opencv4nodejs/package*.json "${BASH_SOURCE[0]}"
    node -p 'process.versions.modules'
    readlink -f "/usr/lib/$multiarch/libopencv_calib3d.so"
  } | sha256sum | cut -d' ' -f1
)
[[ -f $folder/.built && $(<"$folder/.built") == "$now" ]] && exit 0

[[ -e /usr/lib/$multiarch/libopencv_calib3d.so ]] || without "libopencv-calib3d-dev is not installed"
headers=$(node_headers) || without \
  "no headers of Node.js $(node --version) in /usr or beside it: install libnode-dev, or set npm_config_nodedir"

rm -rf "$folder"
mkdir -p "$folder/headers/opencv2"
# OpenCV's own list names every module that Debian has built, with or without its headers.
cat >"$folder/headers/opencv2/opencv_modules.hpp" <<'MODULES'
#define HAVE_OPENCV_CALIB3D
#define HAVE_OPENCV_FEATURES2D
#define HAVE_OPENCV_FLANN
#define HAVE_OPENCV_IMGCODECS
#define HAVE_OPENCV_IMGPROC
MODULES
cp "$root"/scripts/opencv4nodejs/package*.json "$folder/"
fetch() { (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund); }
compile() {
  cd "$package"
  env OPENCV4NODEJS_DISABLE_AUTOBUILD=1 OPENCV_INCLUDE_DIR="$folder/headers" OPENCV_LIB_DIR="/usr/lib/$multiarch" \
    OPENCV_BIN_DIR=/usr/bin CXXFLAGS="-isystem /usr/include/opencv4 -O1 -w" npm_config_nodedir="$headers" \
    "$folder/node_modules/.bin/node-gyp" rebuild --release -j "$(nproc)"
}
works() { node -e 'if (!require(process.argv[1]).modules.calib3d) process.exit(1)' "$package"; }

# In subshells, because a failed step ends the shell that runs it.
(step "Fetching opencv4nodejs" fetch) || without "it could not be fetched; see ${log#"$root"/}"
(step "Building opencv4nodejs (minutes)" compile) || without "it could not be built; see ${log#"$root"/}"
export OPENCV4NODEJS_DISABLE_AUTOBUILD=1
(step "Loading opencv4nodejs" works) || without "it was built and cannot be loaded; see ${log#"$root"/}"
# Objects are as large as all the rest.
rm -rf "$package/build/Release/obj.target"
printf '%s\n' "$now" >"$folder/.built"
