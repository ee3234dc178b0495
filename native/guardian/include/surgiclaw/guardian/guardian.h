// Watches the daemon's heartbeat and stops the devices when it ends (design: every device without a watchdog
// of its own is stopped by a process that outlives the daemon).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "surgiclaw/guardian/action_log.h"
#include "surgiclaw/guardian/beat_reader.h"
#include "surgiclaw/guardian/options.h"
#include "surgiclaw/guardian/stop_links.h"

namespace surgiclaw::guardian {

/// What became of the process's real-time wishes.
struct Privileges {
  bool realtime = false;      ///< SCHED_FIFO was granted
  bool memoryLocked = false;  ///< mlockall was granted
};

/// One thread, one loop. States: waiting (no beat yet) → watching → triggered (acted on silence; a beat with
/// the rearm flag leads back) → ended. End of stream acts from every state but a goodbye.
class Guardian {
 public:
  static constexpr int kExitGoodbye = 0;
  static constexpr int kExitActed = 3;

  Guardian(const Options& options, const Privileges& privileges, ActionLog& log);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Returns the exit status, after a goodbye or when everything that end of stream asks for is done (at most
  /// about five seconds after it, for controllers that cannot be reached).
  int run();

 private:
  enum class State { kWaiting, kWatching, kTriggered };

  void takeBeats(uint64_t nowNs);
  void act(const char* reason, uint64_t nowNs);
  bool silent(uint64_t nowNs) const;
  bool allReady() const;
  uint64_t wakeNs(uint64_t nowNs) const;
  void pollOnce(uint64_t nowNs);
  void reportWhenChanged();

  const Options options_;
  const Privileges privileges_;
  const uint64_t silenceNs_;
  ActionLog& log_;
  std::vector<std::unique_ptr<StopLink>> links_;
  BeatReader reader_;
  realtime::Beat lastBeat_{};
  State state_ = State::kWaiting;
  bool ended_ = false;  ///< the stream of beats has ended
  bool goodbye_ = false;
  uint64_t beats_ = 0;
  uint64_t lastBeatNs_ = 0;  ///< when the newest beat was made, CLOCK_MONOTONIC
  uint32_t triggers_ = 0;
  std::string reported_;
};

/// Locks all memory and asks for SCHED_FIFO. Neither is needed to work.
Privileges raisePrivileges();

}  // namespace surgiclaw::guardian
