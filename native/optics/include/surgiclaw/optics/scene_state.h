// What changes while the twin runs, and the mapped file that carries it from the twin to the camera server.
//
// The file holds a header and a flat array of doubles, the same layout that JavaScript writes
// (src/twin/scene-layout.ts):
//
//   index            value
//   0                time of the state, CLOCK_MONOTONIC in ns
//   1                light, multiplier of the illumination
//   2..4             shift of the tissue from its rest, world metres
//   5                number of segments
//   6                a calibration target is mounted in place of needle and tissue (0 or 1)
//   7                reserved, 0
//   8 + 8 c          camera c: focus stage (m), image shift x and y (m in the image plane), online, frozen (0
//   or 1),
//                    three reserved
//   40 + 10 s        segment s: a (3, m), b (3, m), radius at a and b (m), reflectance, kind
//
//   1960 + k         the target, only where one is mounted: its centre (3, m), its u and v axes (3 each, unit
//                    vectors), crossings along u and v, pitch (m), reflectance of white and black squares
//
// A sequence number that is odd while the array is being written guards it (seqlock): a reader never sees
// half a state, and the writer never waits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "surgiclaw/optics/scene.h"

namespace surgiclaw::optics {

constexpr std::size_t kMaxCameras = 4;
constexpr std::size_t kMaxSegments = 192;

namespace layout {
constexpr std::size_t kMonotonicNs = 0;
constexpr std::size_t kLight = 1;
constexpr std::size_t kTissueShift = 2;
constexpr std::size_t kSegmentCount = 5;
constexpr std::size_t kPlateMounted = 6;
constexpr std::size_t kCameras = 8;
constexpr std::size_t kCameraStride = 8;
constexpr std::size_t kSegments = kCameras + kCameraStride * kMaxCameras;
constexpr std::size_t kSegmentStride = 10;
constexpr std::size_t kPlate = kSegments + kSegmentStride * kMaxSegments;
constexpr std::size_t kLength = kPlate + 14;
}  // namespace layout

enum class SegmentKind { kNeedle = 0, kHook = 1, kLoop = 2, kThread = 3, kCartridge = 4 };
constexpr int kSegmentKinds = 5;

/// A tapered capsule: the hull of a ball of radius radiusA around a and one of radius radiusB around b.
/// Metres, world.
struct Segment {
  Vec3 a;
  Vec3 b;
  double radiusA;
  double radiusB;
  double reflectance;
  SegmentKind kind;
};

struct CameraState {
  double focusM = 0;
  std::array<double, 2> wanderM{0, 0};
  bool online = true;
  bool frozen = false;
};

/// A calibration target: a flat plate with a chessboard, as an operator mounts it in place of needle and
/// tissue. Square (0, 0), at negative u and v, is dark.
struct Plate {
  Vec3 origin;  ///< centre of the pattern, world
  Vec3 uAxis, vAxis;
  int columns, rows;    ///< crossings of lines inside the pattern, along u and v
  double pitchM;        ///< between lines
  double white, black;  ///< reflectances
};

struct SceneState {
  double monotonicNs = 0;
  double light = 1;
  Vec3 tissueShiftM{0, 0, 0};
  std::array<CameraState, kMaxCameras> cameras{};
  std::vector<Segment> segments;
  std::optional<Plate> plate;
};

struct StateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The flat array as a state. `count` may be shorter than layout::kLength when there are few segments.
/// @throws StateError when it is too short, not finite, or names an unknown kind
SceneState unpackState(const double* values, std::size_t count);

/// The state as the flat array, as short as its segments allow.
std::vector<double> packState(const SceneState& state);

/// The mapped file; created when it does not exist, so that writer and readers may start in any order.
class StateFile {
 public:
  /// @throws StateError when the file cannot be created, mapped, or is not a state file
  explicit StateFile(const std::string& path);
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  struct Memory {
    std::atomic<std::uint64_t> magic;
    std::atomic<std::uint64_t> sequence;
    std::array<std::atomic<std::uint64_t>, layout::kLength> words;
  };
  [[nodiscard]] Memory& memory() const { return *memory_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  Memory* memory_ = nullptr;
};

/// The one writer of a state file (held by a file lock).
class StateWriter {
 public:
  /// @throws StateError also when another writer holds the file
  explicit StateWriter(const std::string& path);

  /// Publishes the flat array. Wait-free. @throws StateError for an array that unpackState refuses
  void write(const double* values, std::size_t count);

 private:
  StateFile file_;
};

class StateReader {
 public:
  explicit StateReader(const std::string& path) : file_(path) {}

  /// The newest whole state, in `state`. False before the first write, or when a writer died in the middle of
  /// one: `state` is then left as it was.
  bool read(SceneState& state);

  /// Counts the states written so far; changes when there is a new one.
  [[nodiscard]] std::uint64_t version() const {
    return file_.memory().sequence.load(std::memory_order_acquire) / 2;
  }

 private:
  StateFile file_;
  std::vector<double> copy_ = std::vector<double>(layout::kLength);
};

}  // namespace surgiclaw::optics
