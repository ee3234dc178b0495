#include "environment.h"

#include <mutex>
#include <vector>

#include "surgiclaw/grabber/grabber_error.h"

namespace surgiclaw::cell {

namespace {

/// Instance data of Node-API is deleted with the environment unless something else is said.
void keep(Napi::Env, Environment*) {}

std::string codeOf(grabber::GrabberFault fault) {
  switch (fault) {
    case grabber::GrabberFault::missing:
      return "DEVICE_MISSING";
    case grabber::GrabberFault::refused:
      return "DEVICE_REFUSED";
    case grabber::GrabberFault::offline:
      return "CAMERA_OFFLINE";
    case grabber::GrabberFault::feature:
      return "CAMERA_FEATURE";
    case grabber::GrabberFault::leasesExhausted:
      return "CAMERA_LEASES";
    case grabber::GrabberFault::overflow:
      return "CAMERA_OVERFLOW";
    case grabber::GrabberFault::usage:
      return "COMMAND_INVALID";
  }
  return "INTERNAL";
}

}  // namespace

Napi::Error toJsError(Napi::Env env, const std::exception_ptr& error) {
  std::string code = "INTERNAL";
  std::string message = "an unknown native error";
  try {
    std::rethrow_exception(error);
  } catch (const CodedError& coded) {
    code = coded.code();
    message = coded.what();
  } catch (const grabber::GrabberError& grabbing) {
    code = codeOf(grabbing.fault());
    message = grabbing.what();
  } catch (const std::exception& other) {
    message = other.what();
  } catch (...) {
  }
  Napi::Error result = Napi::Error::New(env, message);
  result.Value().Set("code", Napi::String::New(env, code));
  return result;
}

Environment& Environment::create(Napi::Env env) {
  // Reachable for good, so that a leak checker does not take it for lost.
  static auto* const all = new std::vector<Environment*>;
  static auto* const guard = new std::mutex;
  auto* const environment = new Environment(env);
  {
    const std::lock_guard<std::mutex> lock(*guard);
    all->push_back(environment);
  }
  env.SetInstanceData<Environment, &keep>(environment);
  // Added after the channel, so run before the channel goes: hooks run in reverse order.
  napi_add_env_cleanup_hook(env, &Environment::onCleanup, environment);
  return *environment;
}

Environment& Environment::of(Napi::Env env) { return *env.GetInstanceData<Environment>(); }

Environment::Environment(Napi::Env env)
    : env_(env), channel_(Channel::New(env, "surgiclaw cell", 0, 1, this)) {
  channel_.Unref(env);  // nothing is expected yet
}

void Environment::onCleanup(void* self) {
  auto* const environment = static_cast<Environment*>(self);
  // First what feeds the lanes, then the lanes, then the way back: no thread of ours is left when JavaScript
  // goes.
  auto closers = std::move(environment->closers_);
  environment->closers_.clear();
  for (const auto& closer : closers) closer.second();
  environment->vision1_.abandon();
  environment->vision2_.abandon();
  environment->disk_.finish();
  environment->disposal_.finish();
  environment->leaseConstructor.Reset();
  environment->channel_.Abort();
}

void Environment::callJs(Napi::Env env, Napi::Function, Environment*, Delivery* delivery) {
  const std::unique_ptr<Delivery> owned(delivery);
  if (static_cast<napi_env>(env) == nullptr) return;
  (*owned)(env);
}

void Environment::deliver(Delivery delivery) {
  auto* const owned = new Delivery(std::move(delivery));
  if (channel_.NonBlockingCall(owned) != napi_ok) delete owned;
}

void Environment::expect() {
  if (expected_++ == 0) channel_.Ref(env_);
}

void Environment::delivered() {
  if (--expected_ == 0) channel_.Unref(env_);
}

Lane& Environment::vision() { return vision2_.load() < vision1_.load() ? vision2_ : vision1_; }

uint64_t Environment::addCloser(std::function<void()> close) {
  closers_.emplace(nextCloser_, std::move(close));
  return nextCloser_++;
}

void Environment::removeCloser(uint64_t handle) { closers_.erase(handle); }

}  // namespace surgiclaw::cell
