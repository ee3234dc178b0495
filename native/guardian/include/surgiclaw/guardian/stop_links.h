// How the guardian reaches a device: the bytes that stop it, and the ways to get them out.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>

#include "surgiclaw/guardian/action_log.h"
#include "surgiclaw/guardian/options.h"

namespace surgiclaw::guardian {

/// What the last beat said about the needle.
struct NeedleOrder {
  bool retract = false;
  int32_t toMicrosteps = 0;
};

/// One device. Nothing is written before stop(). All calls come from the guardian's one thread; none waits
/// longer than a few milliseconds.
class StopLink {
 public:
  virtual ~StopLink() = default;
  virtual const std::string& name() const = 0;
  /// A stop would get out at once, as far as can be known without writing.
  virtual bool ready() const = 0;
  /// What poll() should wait for; fd −1 for nothing.
  virtual pollfd interest() const = 0;
  virtual void handle(short revents, uint64_t nowNs) = 0;
  /// Sends the stop now, or as soon as the link is there.
  virtual void stop(uint64_t nowNs, const NeedleOrder& needle) = 0;
  /// Does what is due: connects again, repeats what was not acknowledged, retracts.
  virtual void tick(uint64_t nowNs) = 0;
  /// When tick() has something to do, UINT64_MAX for never.
  virtual uint64_t dueNs() const = 0;
  /// Nothing of the stop is left to do.
  virtual bool settled() const = 0;
  /// The daemon lives again and was reset: forget what is still to be done.
  virtual void cancel() = 0;
  /// The daemon is gone: replies on shared descriptors are the guardian's to read now.
  virtual void inherit() = 0;
};

/// Opens and keeps a client of its own; connects again when it breaks. `STP0/1`, repeated until acknowledged.
/// No line end before it: on a connection of one's own no fragment can stand, and an empty line would be
/// answered by an error, with the stop arriving before that reply.
std::unique_ptr<StopLink> ariesTcpLink(const AriesTcp& endpoint, ActionLog& log);

/// CR LF (ends what the daemon left half-written), STX, `STP0/1`, CR LF on a shared descriptor.
std::unique_ptr<StopLink> ariesSerialLink(const AriesSerial& port, ActionLog& log);

/// The same without STX, on the connection that the daemon has.
std::unique_ptr<StopLink> ariesConnectionLink(const AriesConnection& connection, ActionLog& log);

/// CR LF, STX, `STPn/1`, CR LF for one axis after the other on a shared descriptor, repeated until each has
/// answered where answers can be read.
std::unique_ptr<StopLink> scSerialLink(const ScSerial& port, ActionLog& log);

/// CR LF, `/DD estop`; with the needle in tissue then `/DD A move abs N` along its own axis.
std::unique_ptr<StopLink> needleSerialLink(const NeedleSerial& port, ActionLog& log);

/// The emergency stop of the drive's register map, twice with a gap between; with the needle in tissue then a
/// move along its own axis.
std::unique_ptr<StopLink> needleModbusLink(const NeedleModbus& port, ActionLog& log);

}  // namespace surgiclaw::guardian
