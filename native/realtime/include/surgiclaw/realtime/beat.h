#pragma once

#include <cstddef>
#include <cstdint>

namespace surgiclaw::realtime {

/// "SLCW" read as a little-endian 32-bit number.
constexpr uint32_t kBeatMagic = 0x53434C57;

/// Beat::flags: the needle is in tissue, so whoever takes over must retract it along its own axis.
constexpr uint32_t kBeatNeedleInTissue = 1U << 0;
/// Beat::flags: a guardian that has acted on silence may watch again; sent when the daemon has been reset by
/// a person.
constexpr uint32_t kBeatRearm = 1U << 1;
/// Beat::flags: the last beat of an orderly end; the guardian exits without acting.
constexpr uint32_t kBeatGoodbye = 1U << 2;

/// One heartbeat from the daemon to the guardian: fixed size, host byte order (both ends run on one machine).
/// Smaller than PIPE_BUF, so a pipe carries each beat whole or not at all.
struct __attribute__((packed)) Beat {
  uint32_t magic = kBeatMagic;
  uint32_t sequence = 0;     ///< counts beats written, from 1; wraps
  uint64_t monotonicNs = 0;  ///< CLOCK_MONOTONIC of the sender when the beat was made
  uint32_t flags = 0;
  int32_t retractToMicrosteps =
      0;  ///< absolute needle position that is out of tissue; meaningful with the flag
};

static_assert(sizeof(Beat) == 24, "both ends read 24 bytes");
static_assert(offsetof(Beat, monotonicNs) == 8, "the layout is the protocol");

}  // namespace surgiclaw::realtime
