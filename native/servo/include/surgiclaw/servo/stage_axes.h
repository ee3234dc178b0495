// Moves a set of axes together and says when they really stand.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "surgiclaw/servo/aries_link.h"
#include "surgiclaw/servo/outcome.h"
#include "surgiclaw/servo/watch.h"

namespace surgiclaw::servo {

struct StageTiming {
  std::chrono::nanoseconds exchange = std::chrono::milliseconds(300);  ///< one request and its reply
  std::chrono::nanoseconds poll = std::chrono::milliseconds(3);        ///< between two looks at STR
  std::chrono::nanoseconds move = std::chrono::seconds(10);            ///< one move, until all axes stand
};

/// The axes of one servo run. Not thread-safe: the servo thread's own. Every method ends by itself: at
/// success, at a deadline, or when the watch says so; an Ending means "stop and report", nothing was
/// repaired.
class StageAxes {
 public:
  StageAxes(AriesLink& link, std::vector<int> axes, int speedTable, StageTiming timing, const Watch& watch);

  /// Waits until every axis stands and reads the positions. An axis that another owner keeps moving is an
  /// Ending.
  std::optional<Ending> begin();

  /// Commands the axes whose target differs from their position and waits until all stand at their targets:
  /// STR says stopped twice in a row and RDP agrees. An axis that still drives takes no target (error 309):
  /// it is waited for and asked once more.
  std::optional<Ending> moveTo(const std::vector<int32_t>& targets);

  /// Decelerates its axes, waits until they stand (bounded, whatever the watch says) and reads where. False
  /// when the controller could not be asked.
  bool halt();

  /// As last read, one an axis.
  const std::vector<int32_t>& positions() const { return positions_; }
  /// False from the first command of a move until the axes were seen standing.
  bool standing() const { return standing_; }
  /// CLOCK_MONOTONIC when the axes were last seen standing, and when the last command had been sent, ns.
  uint64_t stoodNs() const { return stoodNs_; }
  uint64_t commandedNs() const { return commandedNs_; }

 private:
  std::optional<Ending> command(size_t index, int32_t target);
  /// With `guarded` the watch can end it.
  std::optional<Ending> settle(bool guarded);
  std::optional<Ending> readPositions();

  AriesLink& link_;
  const std::vector<int> axes_;
  const int speedTable_;
  const StageTiming timing_;
  const Watch& watch_;
  std::vector<int32_t> positions_;
  bool standing_ = false;
  uint64_t stoodNs_ = 0;
  uint64_t commandedNs_ = 0;
};

}  // namespace surgiclaw::servo
