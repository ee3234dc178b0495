#include "surgiclaw/servo/stage_axes.h"

#include <algorithm>
#include <string>
#include <thread>

namespace surgiclaw::servo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAxisDriving = 309;
constexpr int kStopDuringStop = 323;

uint64_t monotonicNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

std::string axisName(int axis) { return "axis " + std::to_string(axis); }

/// What a failed exchange means for the run.
Ending linkEnding(const LinkReply& reply, int axis, const char* command) {
  const std::string what = axisName(axis) + ": " + command;
  switch (reply.result) {
    case LinkResult::kTimeout:
      return {ServoStatus::kLink, what + " was not answered in time"};
    case LinkResult::kClosed:
      return {ServoStatus::kLink, what + ": the controller closed the connection"};
    case LinkResult::kWarning:
      return {ServoStatus::kLink, what + " was accepted with warning " + std::to_string(reply.code)};
    default:
      return {ServoStatus::kLink, what + " was refused with error " + std::to_string(reply.code)};
  }
}

}  // namespace

StageAxes::StageAxes(AriesLink& link, std::vector<int> axes, int speedTable, StageTiming timing,
                     const Watch& watch)
    : link_(link), axes_(std::move(axes)), speedTable_(speedTable), timing_(timing), watch_(watch) {
  positions_.assign(axes_.size(), 0);
}

std::optional<Ending> StageAxes::begin() { return settle(true); }

std::optional<Ending> StageAxes::moveTo(const std::vector<int32_t>& targets) {
  if (auto ending = watch_.ended()) return ending;
  standing_ = false;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (targets[i] == positions_[i]) continue;
    if (auto ending = command(i, targets[i])) return ending;
    if (auto ending = watch_.ended()) return ending;
  }
  commandedNs_ = monotonicNs();
  if (auto ending = settle(true)) return ending;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (positions_[i] != targets[i]) {
      // Someone else stopped it (the guardian, an operator), or a limit did. Our own stop is reported as
      // such.
      if (auto ending = watch_.ended()) return ending;
      return Ending{ServoStatus::kLink, axisName(axes_[i]) + " stands at " + std::to_string(positions_[i]) +
                                            " instead of " + std::to_string(targets[i]) +
                                            " pulses: stopped from outside, or at a limit"};
    }
  }
  return std::nullopt;
}

std::optional<Ending> StageAxes::command(size_t index, int32_t target) {
  const int axis = axes_[index];
  const auto deadline = Clock::now() + timing_.move;
  LinkReply reply = link_.moveAbsolute(axis, speedTable_, target, timing_.exchange);
  // Standing as far as STR went, yet the controller still drives (encoder feedback, or another owner): wait,
  // ask again.
  while (reply.result == LinkResult::kRefused && reply.code == kAxisDriving && Clock::now() < deadline) {
    AxisStatus status;
    do {
      if (auto ending = watch_.ended()) return ending;
      std::this_thread::sleep_for(timing_.poll);
      const LinkReply look = link_.status(axis, status, timing_.exchange);
      if (!look.ok()) return linkEnding(look, axis, "STR");
    } while (status.driving != 0 && Clock::now() < deadline);
    reply = link_.moveAbsolute(axis, speedTable_, target, timing_.exchange);
  }
  if (!reply.ok()) return linkEnding(reply, axis, "APS");
  return std::nullopt;
}

std::optional<Ending> StageAxes::settle(bool guarded) {
  const auto deadline = Clock::now() + timing_.move;
  for (size_t i = 0; i < axes_.size(); ++i) {
    int seenStopped = 0;
    while (seenStopped < 2) {
      if (guarded) {
        if (auto ending = watch_.ended()) return ending;
      }
      AxisStatus status;
      const LinkReply reply = link_.status(axes_[i], status, timing_.exchange);
      if (!reply.ok()) return linkEnding(reply, axes_[i], "STR");
      if (status.emergency || link_.systemError() != 0) {
        return Ending{ServoStatus::kStopped, status.emergency || link_.systemError() == 5
                                                 ? "the controller's emergency input is active"
                                                 : "the controller lost the link to its axes"};
      }
      seenStopped = status.driving == 0 ? seenStopped + 1 : 0;
      if (seenStopped < 2) {
        if (Clock::now() >= deadline)
          return Ending{ServoStatus::kLink, axisName(axes_[i]) + " does not come to rest"};
        std::this_thread::sleep_for(timing_.poll);
      }
    }
  }
  if (auto ending = readPositions()) return ending;
  standing_ = true;
  stoodNs_ = monotonicNs();
  return std::nullopt;
}

std::optional<Ending> StageAxes::readPositions() {
  for (size_t i = 0; i < axes_.size(); ++i) {
    const LinkReply reply = link_.position(axes_[i], positions_[i], timing_.exchange);
    if (!reply.ok()) return linkEnding(reply, axes_[i], "RDP");
  }
  return std::nullopt;
}

bool StageAxes::halt() {
  bool inStep = true;
  for (const int axis : axes_) {
    LinkReply reply = link_.stop(axis, false, timing_.exchange);
    if (reply.result == LinkResult::kTimeout) {
      inStep = link_.resync(timing_.exchange).ok();
      reply = link_.stop(axis, false, timing_.exchange);
    }
    if (reply.result == LinkResult::kClosed) return false;
    if (reply.result == LinkResult::kTimeout) inStep = false;
    if (reply.result == LinkResult::kRefused && reply.code != kStopDuringStop) inStep = false;
  }
  if (!inStep && !link_.resync(timing_.exchange).ok()) return false;
  return !settle(false).has_value();
}

}  // namespace surgiclaw::servo
