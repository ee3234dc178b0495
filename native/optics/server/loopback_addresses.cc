#include "loopback_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cerrno>
#include <new>

#include "surgiclaw/optics/scene.h"

namespace surgiclaw::optics {
namespace {

std::vector<in_addr>& listed() {
  static std::vector<in_addr> addresses;
  return addresses;
}

/// One entry of the list, with what it points to.
struct Entry {
  ifaddrs link;
  sockaddr_in address;
  sockaddr_in mask;
  char name[IFNAMSIZ];
};

}  // namespace

void setLoopbackAddresses(const std::vector<std::string>& addresses) {
  std::vector<in_addr> parsed;
  for (const std::string& text : addresses) {
    in_addr address{};
    if (inet_pton(AF_INET, text.c_str(), &address) != 1 || (ntohl(address.s_addr) >> 24) != 127)
      throw SceneError("scene: camera address " + text + ": expected an IPv4 loopback address, 127.x.y.z");
    parsed.push_back(address);
  }
  listed() = std::move(parsed);
}

}  // namespace surgiclaw::optics

extern "C" {

__attribute__((visibility("default"))) int getifaddrs(ifaddrs** result) {
  using surgiclaw::optics::Entry;
  const std::vector<in_addr>& addresses = surgiclaw::optics::listed();
  *result = nullptr;
  if (addresses.empty()) return 0;
  auto* entries = new (std::nothrow) Entry[addresses.size()]();
  if (entries == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    Entry& entry = entries[i];
    entry.name[0] = 'l';
    entry.name[1] = 'o';
    entry.address.sin_family = AF_INET;
    entry.address.sin_addr = addresses[i];
    entry.mask.sin_family = AF_INET;
    entry.mask.sin_addr.s_addr = htonl(0xff000000U);
    entry.link.ifa_next = i + 1 < addresses.size() ? &entries[i + 1].link : nullptr;
    entry.link.ifa_name = entry.name;
    entry.link.ifa_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
    entry.link.ifa_addr = reinterpret_cast<sockaddr*>(&entry.address);
    entry.link.ifa_netmask = reinterpret_cast<sockaddr*>(&entry.mask);
    // Aravis also listens on the broadcast address; the same address says that there is none.
    entry.link.ifa_broadaddr = reinterpret_cast<sockaddr*>(&entry.address);
  }
  // The list's first link is the first member of the first entry: freeifaddrs finds the block by it.
  *result = &entries[0].link;
  return 0;
}

__attribute__((visibility("default"))) void freeifaddrs(ifaddrs* list) {
  delete[] reinterpret_cast<surgiclaw::optics::Entry*>(list);
}

}  // extern "C"
