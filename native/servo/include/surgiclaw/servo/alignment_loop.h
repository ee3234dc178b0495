// The loop that aligns: look, measure, law, envelope, move, settle, look — without JavaScript in the path.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "surgiclaw/geometry/needle.h"
#include "surgiclaw/servo/control_law.h"
#include "surgiclaw/servo/envelope.h"
#include "surgiclaw/servo/eye.h"
#include "surgiclaw/servo/outcome.h"
#include "surgiclaw/servo/stage_axes.h"
#include "surgiclaw/servo/stage_line.h"
#include "surgiclaw/servo/stop_line.h"
#include "surgiclaw/servo/watch.h"

namespace surgiclaw::servo {

struct AxisOptions {
  int axis = 0;
  std::array<double, 4> pxPerPulse{};  ///< view 1 (u, v), view 2 (u, v)
  int32_t minPulses = 0;
  int32_t maxPulses = 0;
  int approach = 1;  ///< direction of the final approach, +1 or −1
};

struct AlignmentOptions {
  StageLine stages;
  int speedTable = 0;
  std::vector<AxisOptions> axes;
  std::array<std::array<double, 2>, 2> goals{};      ///< px, a view
  std::array<geometry::NeedleEstimate, 2> priors{};  ///< where the needle was last seen
  double tolerancePx = 0;                            ///< strictly less in both views counts
  int consecutive = 3;                               ///< looks in a row within tolerance to accept
  int maxIterations = 30;                            ///< commanded corrections
  double shrinkFactor = 0.7;
  int shrinkSteps = 4;
  int32_t maxStepPulses = 0;
  int32_t approachPulses = 0;
  double timeoutS = 0;

  double gain = 0.9;
  bool broyden = false;   ///< learn the Jacobian from what the moves did
  double nearFactor = 4;  ///< below this many tolerances a step is taken from the median of several looks
  int medianLooks = 3;
  int lostLooks = 5;           ///< looks in a row without a needle in a view
  double frameTimeoutS = 1.5;  ///< a view without a new frame for longer ends the run
  StageTiming timing{};
};

/// Empty when the options can be run; otherwise the first thing that is wrong with them.
std::string alignmentProblem(const AlignmentOptions& options);

struct AlignmentReport {
  ServoStatus status = ServoStatus::kStopped;
  std::string detail;
  int iterations = 0;  ///< corrections commanded
  std::array<double, 2>
      errorPx{};  ///< distance from the goal at the last looks (median), NaN before the first
  std::array<geometry::NeedleEstimate, 2> needles{};
  std::vector<int32_t> positionsPulses;
  double frameToCommandS =
      0;  ///< median from a frame's host time to the commands on the wire, NaN without any
};

/// One run. Owns its two descriptors to the controller: the one it works on and the one that only stops.
class AlignmentLoop {
 public:
  AlignmentLoop(AlignmentOptions options, std::unique_ptr<Eye> view1, std::unique_ptr<Eye> view2,
                Watch::Vitals vitals);
  AlignmentLoop(const AlignmentLoop&) = delete;
  AlignmentLoop& operator=(const AlignmentLoop&) = delete;
  ~AlignmentLoop();

  /// Once, on the thread that shall do the work. Whatever ends it, the axes were told to stop and, where the
  /// controller still answers, seen standing before it returns.
  AlignmentReport run();

  /// Any thread, any time, any number of times; never waits. The stop is on the wire when this returns; run()
  /// then ends with kStopped.
  void stop() noexcept;

 private:
  struct Samples;

  std::optional<Ending> work(StageAxes& stage);
  std::optional<Ending> gather(uint64_t standingSinceNs, Samples& samples);
  std::optional<Ending> lookOnce(size_t view, uint64_t exposedAfterNs, Look& look);
  std::optional<Ending> step(StageAxes& stage, const ImageError& error, uint64_t frameNs);
  ImageError errorOf(const Samples& samples) const;
  void predict(const std::vector<int32_t>& movedPulses);

  const AlignmentOptions options_;
  std::array<std::unique_ptr<Eye>, 2> eyes_;
  Watch watch_;
  Envelope envelope_;
  ImageJacobian jacobian_;
  ProgressMonitor progress_;
  ImageError previousError_ = ImageError::Zero();
  std::vector<int32_t> lastMove_;
  std::vector<bool> seated_;  ///< the last motion of the axis went in its approach direction
  int inTolerance_ = 0;
  std::array<geometry::NeedleEstimate, 2> needles_;
  std::vector<double> latenciesS_;
  AlignmentReport report_;
  // Destroyed first, so that a stop() cannot outlive what it writes to: the owner keeps the loop alive while
  // it calls.
  StopLine stopLine_;
};

}  // namespace surgiclaw::servo
