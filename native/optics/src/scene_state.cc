#include "surgiclaw/optics/scene_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <thread>

namespace surgiclaw::optics {
namespace {

constexpr std::uint64_t kMagic = 0x31455443'53574c43;  // "CLWSCTE1"

std::string systemError(const std::string& what, const std::string& path) {
  return what + " " + path + ": " + std::strerror(errno);
}

std::size_t lengthFor(std::size_t segments) { return layout::kSegments + layout::kSegmentStride * segments; }

/// How many numbers of a flat array count.
std::size_t lengthOf(const double* values, std::size_t segments) {
  return values[layout::kPlateMounted] != 0 ? layout::kLength : lengthFor(segments);
}

/// Number of segments in a flat array, checked against its length.
std::size_t segmentCount(const double* values, std::size_t count) {
  if (count < layout::kSegments)
    throw StateError("scene state: " + std::to_string(count) + " numbers, expected at least " +
                     std::to_string(layout::kSegments));
  const double segments = values[layout::kSegmentCount];
  if (!(segments >= 0 && segments <= static_cast<double>(kMaxSegments)) || segments != std::floor(segments))
    throw StateError("scene state: " + std::to_string(segments) + " segments, expected 0 to " +
                     std::to_string(kMaxSegments));
  const auto whole = static_cast<std::size_t>(segments);
  if (count < lengthOf(values, whole))
    throw StateError("scene state: " + std::to_string(count) + " numbers are too few for " +
                     std::to_string(whole) + " segments and a target, if there is one");
  return whole;
}

Vec3 vectorAt(const double* values) { return {values[0], values[1], values[2]}; }

Plate plateAt(const double* v) {
  const Plate plate{vectorAt(v),
                    vectorAt(v + 3),
                    vectorAt(v + 6),
                    static_cast<int>(std::clamp(v[9], 0.0, 1e3)),
                    static_cast<int>(std::clamp(v[10], 0.0, 1e3)),
                    v[11],
                    v[12],
                    v[13]};
  constexpr double kTolerance = 1e-6;
  const Vec3 &p = plate.uAxis, &q = plate.vAxis;
  if (std::abs(dot(p, p) - 1) > kTolerance || std::abs(dot(q, q) - 1) > kTolerance ||
      std::abs(dot(p, q)) > kTolerance)
    throw StateError("scene state: the axes of the target are not orthonormal");
  if (plate.columns < 1 || plate.rows < 1 || !(plate.pitchM > 1e-7))
    throw StateError("scene state: the target has no pattern");
  return plate;
}

void append(double*& at, const Vec3& vector) { at = std::copy(vector.begin(), vector.end(), at); }

}  // namespace

SceneState unpackState(const double* values, std::size_t count) {
  const std::size_t segments = segmentCount(values, count);
  for (std::size_t i = 0; i < lengthOf(values, segments); ++i) {
    if (!std::isfinite(values[i]))
      throw StateError("scene state: the number at index " + std::to_string(i) + " is not finite");
  }
  SceneState state;
  state.monotonicNs = values[layout::kMonotonicNs];
  state.light = values[layout::kLight];
  if (state.light < 0) throw StateError("scene state: negative light");
  state.tissueShiftM = vectorAt(values + layout::kTissueShift);
  for (std::size_t i = 0; i < kMaxCameras; ++i) {
    const double* camera = values + layout::kCameras + layout::kCameraStride * i;
    state.cameras[i] = {camera[0], {camera[1], camera[2]}, camera[3] != 0, camera[4] != 0};
  }
  state.segments.reserve(segments);
  for (std::size_t i = 0; i < segments; ++i) {
    const double* s = values + layout::kSegments + layout::kSegmentStride * i;
    if (!(s[6] > 0 && s[7] > 0))
      throw StateError("scene state: segment " + std::to_string(i) + " has no radius");
    if (!(s[9] >= 0 && s[9] < kSegmentKinds) || s[9] != std::floor(s[9]))
      throw StateError("scene state: segment " + std::to_string(i) + " is of an unknown kind");
    state.segments.push_back(
        {vectorAt(s), vectorAt(s + 3), s[6], s[7], s[8], static_cast<SegmentKind>(static_cast<int>(s[9]))});
  }
  if (values[layout::kPlateMounted] != 0) state.plate = plateAt(values + layout::kPlate);
  return state;
}

std::vector<double> packState(const SceneState& state) {
  std::vector<double> values(state.plate ? layout::kLength : lengthFor(state.segments.size()), 0.0);
  values[layout::kMonotonicNs] = state.monotonicNs;
  values[layout::kLight] = state.light;
  for (std::size_t i = 0; i < 3; ++i) values[layout::kTissueShift + i] = state.tissueShiftM[i];
  values[layout::kSegmentCount] = static_cast<double>(state.segments.size());
  for (std::size_t i = 0; i < kMaxCameras; ++i) {
    double* camera = values.data() + layout::kCameras + layout::kCameraStride * i;
    camera[0] = state.cameras[i].focusM;
    camera[1] = state.cameras[i].wanderM[0];
    camera[2] = state.cameras[i].wanderM[1];
    camera[3] = state.cameras[i].online ? 1 : 0;
    camera[4] = state.cameras[i].frozen ? 1 : 0;
  }
  for (std::size_t i = 0; i < state.segments.size(); ++i) {
    const Segment& segment = state.segments[i];
    double* s = values.data() + layout::kSegments + layout::kSegmentStride * i;
    for (std::size_t k = 0; k < 3; ++k) {
      s[k] = segment.a[k];
      s[3 + k] = segment.b[k];
    }
    s[6] = segment.radiusA;
    s[7] = segment.radiusB;
    s[8] = segment.reflectance;
    s[9] = static_cast<int>(segment.kind);
  }
  if (state.plate) {
    const Plate& plate = *state.plate;
    values[layout::kPlateMounted] = 1;
    double* at = values.data() + layout::kPlate;
    append(at, plate.origin);
    append(at, plate.uAxis);
    append(at, plate.vAxis);
    *at++ = plate.columns;
    *at++ = plate.rows;
    *at++ = plate.pitchM;
    *at++ = plate.white;
    *at++ = plate.black;
  }
  return values;
}

StateFile::StateFile(const std::string& path) {
  // The file holds the twin's truth: for its owner's eyes only.
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) throw StateError(systemError("cannot open the scene state", path));
  struct stat info {};
  const bool known = fstat(descriptor_, &info) == 0;
  const bool fits = known && (static_cast<std::size_t>(info.st_size) >= sizeof(Memory) ||
                              ftruncate(descriptor_, sizeof(Memory)) == 0);
  void* address =
      fits ? mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0) : MAP_FAILED;
  if (address == MAP_FAILED) {
    const std::string message = systemError("cannot map the scene state", path);
    close(descriptor_);
    throw StateError(message);
  }
  memory_ = static_cast<Memory*>(address);
  std::uint64_t magic = 0;
  if (!memory_->magic.compare_exchange_strong(magic, kMagic) && magic != kMagic) {
    munmap(memory_, sizeof(Memory));
    close(descriptor_);
    throw StateError("not a scene state file: " + path);
  }
}

StateFile::~StateFile() {
  munmap(memory_, sizeof(Memory));
  close(descriptor_);
}

StateWriter::StateWriter(const std::string& path) : file_(path) {
  if (flock(file_.descriptor(), LOCK_EX | LOCK_NB) != 0)
    throw StateError(systemError("another writer holds the scene state", path));
  // A writer that died in the middle left an odd number, which would keep readers waiting for ever. Its torn
  // array must not count as a state, so the sequence stays odd until this writer's first write.
}

void StateWriter::write(const double* values, std::size_t count) {
  static_cast<void>(unpackState(values, count));
  StateFile::Memory& memory = file_.memory();
  const std::uint64_t sequence = memory.sequence.load(std::memory_order_relaxed) | 1;
  memory.sequence.store(sequence, std::memory_order_relaxed);
  const std::size_t length = lengthOf(values, segmentCount(values, count));
  for (std::size_t i = 0; i < length; ++i) {
    std::uint64_t word;
    std::memcpy(&word, values + i, sizeof word);
    // Whoever sees this word sees the odd number before it.
    memory.words[i].store(word, std::memory_order_release);
  }
  memory.sequence.store(sequence + 1, std::memory_order_release);
}

bool StateReader::read(SceneState& state) {
  StateFile::Memory& memory = file_.memory();
  // A write takes a few microseconds; a sequence that stays odd longer belongs to a writer that is gone.
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t before = memory.sequence.load(std::memory_order_acquire);
    if (before == 0) return false;
    if (before % 2 == 0) {
      std::size_t length = layout::kLength;
      for (std::size_t i = 0; i < length; ++i) {
        const std::uint64_t word = memory.words[i].load(std::memory_order_acquire);
        std::memcpy(&copy_[i], &word, sizeof word);
        if (i == layout::kSegmentCount && copy_[i] >= 0 && copy_[i] <= static_cast<double>(kMaxSegments))
          length = lengthFor(static_cast<std::size_t>(copy_[i]));
        if (i == layout::kPlateMounted && copy_[i] != 0) length = layout::kLength;
      }
      if (memory.sequence.load(std::memory_order_relaxed) == before) {
        state = unpackState(copy_.data(), length);
        return true;
      }
    }
    std::this_thread::yield();
  }
  return false;
}

}  // namespace surgiclaw::optics
