#include "surgiclaw/servo/alignment_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace surgiclaw::servo {
namespace {

constexpr auto kLookSlice =
    std::chrono::milliseconds(20);  // how long a stop may go unnoticed while waiting for a frame
constexpr auto kConnectTimeout = std::chrono::milliseconds(1000);

double medianOf(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::vector<AxisLimits> limitsOf(const AlignmentOptions& options) {
  std::vector<AxisLimits> limits;
  for (const AxisOptions& axis : options.axes) {
    // A leg may be longer than the step by the way that takes up the lost motion.
    limits.push_back(
        {axis.axis, axis.minPulses, axis.maxPulses, options.maxStepPulses + options.approachPulses});
  }
  return limits;
}

ImageJacobian jacobianOf(const AlignmentOptions& options) {
  const auto count = std::min<size_t>(options.axes.size(), kMaxAxes);
  ImageJacobian jacobian(4, static_cast<Eigen::Index>(count));
  for (size_t axis = 0; axis < count; ++axis) {
    for (size_t row = 0; row < 4; ++row) {
      jacobian(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(axis)) =
          options.axes[axis].pxPerPulse[row];
    }
  }
  return jacobian;
}

}  // namespace

std::string alignmentProblem(const AlignmentOptions& options) {
  const auto finitePositive = [](double value) { return std::isfinite(value) && value > 0; };
  const StageLine& line = options.stages;
  if (!line.shared()) {
    if (line.host.empty()) return "no host";
    if (line.port < 1 || line.port > 65535) return "port outside 1…65535";
  }
  if (line.statusFields < 5 || line.statusFields > 6) return "STR has five or six fields";
  if (options.speedTable < 0 || options.speedTable > 9) return "speed table outside 0…9";
  if (options.axes.empty() || options.axes.size() > kMaxAxes) return "between one and four axes are needed";
  std::set<int> seen;
  for (const AxisOptions& axis : options.axes) {
    const std::string name = "axis " + std::to_string(axis.axis);
    if (axis.axis < 1 || axis.axis > 32) return name + ": outside 1…32";
    if (!seen.insert(axis.axis).second) return name + ": named twice";
    for (const double value : axis.pxPerPulse) {
      if (!std::isfinite(value)) return name + ": a Jacobian entry is not finite";
    }
    if (axis.minPulses < kAriesMinPulses || axis.maxPulses > kAriesMaxPulses ||
        axis.minPulses > axis.maxPulses) {
      return name + ": limits outside 28 bit or in the wrong order";
    }
    if (axis.approach != 1 && axis.approach != -1) return name + ": approach is neither +1 nor -1";
  }
  for (const auto& goal : options.goals) {
    if (!std::isfinite(goal[0]) || !std::isfinite(goal[1])) return "a goal is not finite";
  }
  if (!finitePositive(options.tolerancePx)) return "tolerancePx must be above 0";
  if (options.consecutive < 1) return "consecutive must be at least 1";
  if (options.maxIterations < 1) return "maxIterations must be at least 1";
  if (!finitePositive(options.shrinkFactor) || options.shrinkFactor >= 1)
    return "shrinkFactor must lie in (0, 1)";
  if (options.shrinkSteps < 1) return "shrinkSteps must be at least 1";
  if (options.maxStepPulses < 1 || options.maxStepPulses > kAriesMaxPulses)
    return "maxStepPulses outside 1…2^27";
  if (options.approachPulses < 0 || options.approachPulses > kAriesMaxPulses)
    return "approachPulses outside 0…2^27";
  if (!finitePositive(options.timeoutS) || options.timeoutS > 3600) return "timeoutS outside (0, 3600]";
  if (!finitePositive(options.gain) || options.gain >= 2) return "gain outside (0, 2)";
  return {};
}

/// What the looks since the last move have shown.
struct AlignmentLoop::Samples {
  std::array<std::vector<double>, 2> x;
  std::array<std::vector<double>, 2> y;
  uint64_t frameNs = 0;  ///< of the newest pair, the older of the two
  size_t count() const { return x[0].size(); }
};

AlignmentLoop::AlignmentLoop(AlignmentOptions options, std::unique_ptr<Eye> view1, std::unique_ptr<Eye> view2,
                             Watch::Vitals vitals)
    : options_(std::move(options)),
      eyes_{std::move(view1), std::move(view2)},
      watch_(std::move(vitals),
             std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(
                 std::isfinite(options_.timeoutS) ? std::min(options_.timeoutS, 3600.0) : 0))),
      envelope_(limitsOf(options_)),
      jacobian_(jacobianOf(options_)),
      progress_(options_.shrinkFactor, options_.shrinkSteps, options_.tolerancePx),
      lastMove_(options_.axes.size(), 0),
      seated_(options_.axes.size(), false),
      needles_(options_.priors) {
  report_.errorPx.fill(std::numeric_limits<double>::quiet_NaN());
}

AlignmentLoop::~AlignmentLoop() = default;

void AlignmentLoop::stop() noexcept {
  watch_.requestStop();  // before the bytes: the loop must not command anything after them
  stopLine_.fire();
}

AlignmentReport AlignmentLoop::run() {
  const auto end = [this](Ending ending) {
    report_.status = ending.status;
    report_.detail = std::move(ending.detail);
    report_.needles = needles_;
    report_.frameToCommandS = medianOf(latenciesS_);
    return report_;
  };
  if (std::string problem = alignmentProblem(options_); !problem.empty()) {
    return end({ServoStatus::kEnvelope, std::move(problem)});
  }
  // The way to stop comes first: without it nothing is commanded.
  if (const std::string error = stopLine_.open(options_.stages, kConnectTimeout); !error.empty()) {
    return end({ServoStatus::kLink, "the stop connection to the stage controller failed: " + error});
  }
  std::string error;
  const int fd = openStageLine(options_.stages, kConnectTimeout, error);
  if (fd < 0) return end({ServoStatus::kLink, "the connection to the stage controller failed: " + error});
  AriesLink link(fd, options_.stages.framing, options_.stages.statusFields);
  std::vector<int> axes;
  for (const AxisOptions& axis : options_.axes) axes.push_back(axis.axis);
  StageAxes stage(link, std::move(axes), options_.speedTable, options_.timing, watch_);

  Ending ending = work(stage).value_or(Ending{ServoStatus::kConverged, ""});
  if (!stage.standing()) {
    if (!stage.halt()) {
      // The last resort beside the guardian: a controller that does not answer may still listen.
      stopLine_.fire();
      ending.detail += "; the axes were told to stop but not seen standing";
    }
  }
  report_.positionsPulses = stage.positions();
  return end(std::move(ending));
}

std::optional<Ending> AlignmentLoop::work(StageAxes& stage) {
  if (auto ending = stage.begin()) return ending;
  for (;;) {
    Samples samples;
    if (auto ending = gather(stage.stoodNs(), samples)) return ending;
    if (inTolerance_ >= options_.consecutive) return std::nullopt;
    if (report_.iterations >= options_.maxIterations) {
      return Ending{ServoStatus::kNotConverged,
                    "no convergence within " + std::to_string(options_.maxIterations) + " corrections"};
    }
    if (auto ending = step(stage, errorOf(samples), samples.frameNs)) return ending;
  }
}

/// Looks until it is known what to do: enough looks within tolerance, or a measurement good enough to step
/// from. Far from the goal one pair of frames is enough; near it the median of several keeps noise out of the
/// step.
std::optional<Ending> AlignmentLoop::gather(uint64_t standingSinceNs, Samples& samples) {
  std::array<uint64_t, 2> afterNs{standingSinceNs, standingSinceNs};
  inTolerance_ = 0;
  const auto enough = static_cast<size_t>(std::max(1, options_.medianLooks));
  for (;;) {
    std::array<Look, 2> looks;
    for (size_t view = 0; view < 2; ++view) {
      if (auto ending = lookOnce(view, afterNs[view], looks[view])) return ending;
      afterNs[view] = looks[view].frameNs;
      needles_[view] = looks[view].needle;
    }
    ImageError now;
    for (size_t view = 0; view < 2; ++view) {
      samples.x[view].push_back(looks[view].needle.tipX);
      samples.y[view].push_back(looks[view].needle.tipY);
      now(static_cast<Eigen::Index>(2 * view)) = looks[view].needle.tipX - options_.goals[view][0];
      now(static_cast<Eigen::Index>(2 * view + 1)) = looks[view].needle.tipY - options_.goals[view][1];
    }
    samples.frameNs = std::min(looks[0].frameNs, looks[1].frameNs);
    inTolerance_ = worstViewPx(now) < options_.tolerancePx ? inTolerance_ + 1 : 0;
    const ImageError median = errorOf(samples);
    report_.errorPx = {median.head<2>().norm(), median.tail<2>().norm()};
    if (inTolerance_ >= options_.consecutive) return std::nullopt;
    if (inTolerance_ > 0) continue;  // another look decides, not another move
    const double distance = worstViewPx(median);
    if (distance > options_.nearFactor * options_.tolerancePx) return std::nullopt;
    // A median within tolerance with single looks outside is noise, which no step removes: give it a while
    // longer.
    if (samples.count() >= (distance < options_.tolerancePx ? 4 * enough : enough)) return std::nullopt;
  }
}

/// One frame of a view with the needle in it. Frames without it are counted, silence is timed.
std::optional<Ending> AlignmentLoop::lookOnce(size_t view, uint64_t exposedAfterNs, Look& look) {
  const std::string name = "view " + std::to_string(view + 1);
  auto silentSince = std::chrono::steady_clock::now();
  int lost = 0;
  for (;;) {
    if (auto ending = watch_.ended()) return ending;
    look = eyes_[view]->look(exposedAfterNs, kLookSlice, needles_[view]);
    switch (look.result) {
      case Look::Result::kSeen:
        if (std::isfinite(look.needle.tipX) && std::isfinite(look.needle.tipY)) return std::nullopt;
        [[fallthrough]];  // a measurement that is not a number is none
      case Look::Result::kNotFound:
        exposedAfterNs = look.frameNs;
        silentSince = std::chrono::steady_clock::now();
        if (++lost >= options_.lostLooks) {
          return Ending{ServoStatus::kNeedleLost, name + ": no needle in " + std::to_string(lost) +
                                                      " frames in a row: " + look.needle.reason};
        }
        break;
      case Look::Result::kLost:
        return Ending{ServoStatus::kFrames, name + ": the camera is gone"};
      case Look::Result::kNoFrame:
        if (std::chrono::duration<double>(std::chrono::steady_clock::now() - silentSince).count() >
            options_.frameTimeoutS) {
          return Ending{ServoStatus::kFrames,
                        name + ": no new frame for " + std::to_string(options_.frameTimeoutS) + " s"};
        }
        break;
    }
  }
}

ImageError AlignmentLoop::errorOf(const Samples& samples) const {
  ImageError error;
  for (size_t view = 0; view < 2; ++view) {
    error(static_cast<Eigen::Index>(2 * view)) = medianOf(samples.x[view]) - options_.goals[view][0];
    error(static_cast<Eigen::Index>(2 * view + 1)) = medianOf(samples.y[view]) - options_.goals[view][1];
  }
  return error;
}

std::optional<Ending> AlignmentLoop::step(StageAxes& stage, const ImageError& error, uint64_t frameNs) {
  if (report_.iterations == 0) previousError_ = error;
  if (options_.broyden && report_.iterations > 0) {
    AxisVector moved(static_cast<Eigen::Index>(lastMove_.size()));
    for (size_t i = 0; i < lastMove_.size(); ++i) moved(static_cast<Eigen::Index>(i)) = lastMove_[i];
    jacobian_ = broydenUpdate(jacobian_, moved, error - previousError_, 5 * options_.tolerancePx);
  }
  LawOptions law;
  law.gain = options_.gain;
  law.maxStepPulses = options_.maxStepPulses;
  const LawStep wanted = controlStep(jacobian_, error, previousError_, law);
  if (!wanted.ok) return Ending{ServoStatus::kEnvelope, wanted.reason};
  previousError_ = error;

  switch (progress_.add(worstViewPx(error), wanted.scale, options_.gain)) {
    case ProgressMonitor::Verdict::kGoOn:
      break;
    case ProgressMonitor::Verdict::kStalled:
      return Ending{ServoStatus::kNotConverged, "the error did not shrink by the factor " +
                                                    std::to_string(options_.shrinkFactor) + " within " +
                                                    std::to_string(options_.shrinkSteps) + " corrections"};
    case ProgressMonitor::Verdict::kDiverging:
      return Ending{ServoStatus::kNotConverged, "the error grows: the Jacobian does not fit this stage"};
  }

  // Plan first, check everything, send last: a refusal leaves the stage untouched.
  const std::vector<int32_t> start = stage.positions();
  std::vector<int32_t> first = start;
  std::vector<int32_t> last = start;
  for (size_t i = 0; i < start.size(); ++i) {
    const AxisOptions& axis = options_.axes[i];
    const int64_t target = static_cast<int64_t>(start[i]) + wanted.deltaPulses[i];
    last[i] = static_cast<int32_t>(std::clamp<int64_t>(target, INT32_MIN, INT32_MAX));
    const std::vector<int32_t> legs = approachLegs(start[i], last[i], axis.approach, options_.approachPulses,
                                                   seated_[i], axis.minPulses, axis.maxPulses);
    first[i] = legs.empty() ? start[i] : legs.front();
  }
  for (const auto& [from, to] : {std::pair(start, first), std::pair(first, last)}) {
    if (std::string refusal = envelope_.refusal(from, to); !refusal.empty()) {
      return Ending{ServoStatus::kEnvelope, std::move(refusal)};
    }
  }

  ++report_.iterations;
  if (auto ending = stage.moveTo(first)) return ending;
  latenciesS_.push_back(static_cast<double>(stage.commandedNs() - frameNs) * 1e-9);
  if (first != last) {
    if (auto ending = stage.moveTo(last)) return ending;
  }
  for (size_t i = 0; i < start.size(); ++i) {
    lastMove_[i] = last[i] - start[i];
    seated_[i] = seated_[i] || lastMove_[i] != 0;
  }
  predict(lastMove_);
  return std::nullopt;
}

/// Carries the last seen tips along with the stage, so that the next frame is searched where the needle now
/// is.
void AlignmentLoop::predict(const std::vector<int32_t>& movedPulses) {
  for (size_t axis = 0; axis < movedPulses.size(); ++axis) {
    const auto column = static_cast<Eigen::Index>(axis);
    for (size_t view = 0; view < 2; ++view) {
      const auto row = static_cast<Eigen::Index>(2 * view);
      needles_[view].tipX += jacobian_(row, column) * movedPulses[axis];
      needles_[view].tipY += jacobian_(row + 1, column) * movedPulses[axis];
    }
  }
}

}  // namespace surgiclaw::servo
