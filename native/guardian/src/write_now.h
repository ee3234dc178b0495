#pragma once

#include <cstddef>

namespace surgiclaw::guardian {

/// Writes to a socket or a serial descriptor without changing its mode (which the daemon shares) and without
/// waiting for more than `limitMs`. True when all bytes went out. A serial line that polls writable has room
/// for a short command, so a blocking descriptor does not block here.
bool writeNow(int fd, const char* bytes, size_t length, int limitMs);

}  // namespace surgiclaw::guardian
