// How the servo reaches the stage controller while the stages are lent to it.
#pragma once

#include <chrono>
#include <string>

#include "surgiclaw/servo/aries_wire.h"

namespace surgiclaw::servo {

/// An address, where connections of one's own can be opened; or else the descriptor of the only line there
/// is, which its owner leaves alone meanwhile.
struct StageLine {
  std::string host;  ///< numeric address or name
  int port = 0;
  int descriptor = -1;  ///< open and non-blocking; host and port mean nothing when it is set
  AriesFraming framing = AriesFraming::kTcp;
  int statusFields = 6;  ///< of STR after the axis: 6, or 5 with some CRUX

  bool shared() const { return descriptor >= 0; }
};

/// A descriptor that the caller owns: a connection of its own, or a duplicate of the shared line's. −1 with
/// `error` set on failure or after `timeout`.
int openStageLine(const StageLine& line, std::chrono::nanoseconds timeout, std::string& error);

/// Opens a TCP connection with TCP_NODELAY, non-blocking, close-on-exec. −1 with `error` set on failure or
/// after `timeout`.
int connectTcp(const std::string& host, int port, std::chrono::nanoseconds timeout, std::string& error);

}  // namespace surgiclaw::servo
