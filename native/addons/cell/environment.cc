#include "environment.h"

#include <mutex>
#include <utility>
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
  static auto* const guard = new std::mutex;
  static auto* const all = new std::vector<Environment*>;
  auto* const environment = new Environment(env);
  {
    const std::lock_guard<std::mutex> lock(*guard);
    all->push_back(environment);
  }
  env.SetInstanceData<Environment, &keep>(environment);
  // Added after the channel, so run before the channel goes: hooks run in reverse order.
  napi_add_env_cleanup_hook(env, &Environment::onCleanup, environment);
  // process.exit() and an uncaught exception run no cleanup hook: they go straight to the destructors of
  // static objects, OpenCV's among them, which our threads would be using.
  const Napi::Object process = env.Global().Get("process").As<Napi::Object>();
  const auto onExit = [environment](const Napi::CallbackInfo&) { environment->closeAll(); };
  process.Get("on").As<Napi::Function>().Call(
      process, {Napi::String::New(env, "exit"), Napi::Function::New(env, onExit, "closeNativeThreads")});
  return *environment;
}

Environment& Environment::of(Napi::Env env) { return *env.GetInstanceData<Environment>(); }

Environment::Environment(Napi::Env env)
    : env_(env), channel_(Channel::New(env, "surgiclaw cell", 0, 1, this)) {
  channel_.Unref(env);  // nothing is expected yet
}

void Environment::onCleanup(void* self) {
  auto* const environment = static_cast<Environment*>(self);
  environment->closeAll();
  environment->leaseConstructor.Reset();
  environment->channel_.Abort();
}

void Environment::closeAll() {
  // First what feeds the lanes, then the lanes: no thread of ours is left afterwards.
  for (auto* const closers : {&urgentClosers_, &closers_}) {
    const auto taken = std::exchange(*closers, {});
    for (const auto& closer : taken) closer.second();
  }
  vision1_.abandon();
  vision2_.abandon();
  disk_.finish();
  disposal_.finish();
}

void Environment::callJs(Napi::Env env, Napi::Function, Environment*, Delivery* delivery) {
  const std::unique_ptr<Delivery> owned(delivery);
  if (static_cast<napi_env>(env) == nullptr) return;
  try {
    (*owned)(env);
  } catch (const Napi::Error&) {
    // Every delivery hands its own errors to its promise. What is left is an environment that is being
    // terminated: it refuses every call, and nobody is there to be told.
  }
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

uint64_t Environment::addCloser(std::function<void()> close, bool urgent) {
  (urgent ? urgentClosers_ : closers_).emplace(nextCloser_, std::move(close));
  return nextCloser_++;
}

void Environment::removeCloser(uint64_t handle) {
  urgentClosers_.erase(handle);
  closers_.erase(handle);
}

}  // namespace surgiclaw::cell
