// A client of one ARIES controller: one request in flight, every exchange with a deadline, never a wait
// beyond it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "surgiclaw/servo/aries_wire.h"

namespace surgiclaw::servo {

/// What the servo needs to know of STR.
struct AxisStatus {
  int driving = 0;  ///< 0 stopped, 1 running, 2 feedback
  bool emergency = false;
};

enum class LinkResult {
  kOk,
  kWarning,  ///< accepted, but `code` says what the controller will not do as asked
  kRefused,  ///< `code` says why; nothing was done
  kTimeout,  ///< no reply before the deadline; the link must be brought in step again (resync)
  kClosed,   ///< the other side is gone
};

struct LinkReply {
  LinkResult result = LinkResult::kClosed;
  int code = 0;
  bool ok() const { return result == LinkResult::kOk; }
};

/// Speaks Quick commands only (response method 1) and leaves it to the caller to poll STR: with several
/// clients a completion reply may never come. One thread at a time; another thread that must stop the axes
/// has a connection of its own (StopLine). Owns the descriptor, which must be non-blocking.
class AriesLink {
 public:
  using Timeout = std::chrono::nanoseconds;

  /// @param statusFields how many fields STR has after the axis: 6, or 5 with some CRUX
  AriesLink(int fd, AriesFraming framing, int statusFields = 6);
  AriesLink(const AriesLink&) = delete;
  AriesLink& operator=(const AriesLink&) = delete;
  ~AriesLink();

  /// APS: absolute move, accepted at once. Error 309 while the axis still drives.
  LinkReply moveAbsolute(int axis, int speedTable, int32_t targetPulses, Timeout timeout);
  LinkReply status(int axis, AxisStatus& status, Timeout timeout);
  LinkReply position(int axis, int32_t& pulses, Timeout timeout);
  /// STP: `axis` 0 means all; `emergency` stops without a ramp.
  LinkReply stop(int axis, bool emergency, Timeout timeout);
  /// After a timeout: drops what still comes until the reply to an IDN arrives.
  LinkReply resync(Timeout timeout);

  /// Code of the last spontaneous `E SYS` line (5 emergency input, 6 device link lost), 0 when none came.
  int systemError() const { return systemError_; }
  /// Replies that answered nothing we asked: late, foreign or malformed.
  uint32_t strayReplies() const { return strays_ + lines_.malformed() + lines_.overlong(); }

 private:
  LinkReply exchange(const char* text, const char* command, int axis, Timeout timeout, AriesReply& reply);

  const int fd_;
  const AriesFraming framing_;
  const int statusFields_;
  AriesLines lines_;
  int systemError_ = 0;
  uint32_t strays_ = 0;
};

}  // namespace surgiclaw::servo
