// What Node lacks of the system: unix datagrams to systemd, and fdatasync off Node's thread pool.
#include <napi.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"

namespace surgiclaw::cell {

namespace {

/// sd_notify(3): one datagram to the socket that NOTIFY_SOCKET names; "@" begins an abstract one.
Napi::Value notifySystemd(const Napi::CallbackInfo& info) {
  const std::string message = requireString(info[0], "message");
  const char* const name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0') return Napi::Boolean::New(info.Env(), false);
  const auto fail = [&](int error) {
    const std::string text = std::string("NOTIFY_SOCKET ") + name + ": " + std::strerror(error);
    return toJsError(info.Env(), std::make_exception_ptr(CodedError("LINK_CONNECT", text)));
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = std::strlen(name);
  if ((name[0] != '/' && name[0] != '@') || length >= sizeof(address.sun_path)) throw fail(EINVAL);
  std::memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = '\0';
  // The length counts: an abstract name ends where it ends, without a zero.
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + (name[0] == '/' ? 1 : 0));
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw fail(errno);
  const ssize_t sent = sendto(descriptor, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&address), size);
  const int error = errno;
  close(descriptor);
  if (sent != static_cast<ssize_t>(message.size())) throw fail(sent < 0 ? error : EMSGSIZE);
  return Napi::Boolean::New(info.Env(), true);
}

Napi::Value syncData(const Napi::CallbackInfo& info) {
  const int descriptor = requireInteger(info[0], "fd", 0, std::numeric_limits<int>::max());
  return runOn(
      Environment::of(info.Env()).disk(), info.Env(),
      [descriptor] {
        while (fdatasync(descriptor) != 0) {
          if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "fdatasync");
        }
        return true;
      },
      [](Napi::Env env, bool) { return env.Undefined(); });
}

}  // namespace

void initSystem(Napi::Env env, Napi::Object exports) {
  exports.Set("notifySystemd", Napi::Function::New<notifySystemd>(env, "notifySystemd"));
  exports.Set("fdatasync", Napi::Function::New<syncData>(env, "fdatasync"));
}

}  // namespace surgiclaw::cell
