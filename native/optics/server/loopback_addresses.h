// The fake camera of Aravis looks its address up among the interfaces of the machine, and giving `lo` a
// second address needs root. Instead this program lists its own: its getifaddrs stands in front of the one of
// libc.
#pragma once

#include <string>
#include <vector>

namespace surgiclaw::optics {

/// What getifaddrs reports from now on: `lo` with each of these addresses. Call before any camera is made.
/// @throws SceneError for something that is not an IPv4 loopback address
void setLoopbackAddresses(const std::vector<std::string>& addresses);

}  // namespace surgiclaw::optics
