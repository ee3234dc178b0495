// What the addon keeps per JavaScript environment (main thread or worker): its threads, its way back to the
// event loop, and what must be closed before the environment goes.
#pragma once

#include <napi.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lane.h"

namespace surgiclaw::cell {

/// An error that reaches JavaScript as an Error with a `code` of the catalogue (src/base/errors.ts).
class CodedError : public std::exception {
 public:
  CodedError(std::string code, std::string message) : code_(std::move(code)), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& code() const noexcept { return code_; }

 private:
  std::string code_;
  std::string message_;
};

/// The JavaScript error for a native one: CodedError and GrabberError keep their code, others become
/// INTERNAL.
Napi::Error toJsError(Napi::Env env, const std::exception_ptr& error);

/// Outlives its environment by the rest of the process: objects are finalised in an order that Node does not
/// promise, some after everything else, and they may still ask for a closer to be removed. What counts
/// (threads, references) is let go in the cleanup hook.
class Environment {
 public:
  /// JS thread. Once per environment, from the module's initialisation.
  static Environment& create(Napi::Env env);
  /// JS thread.
  static Environment& of(Napi::Env env);

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  using Delivery = std::function<void(Napi::Env)>;
  /// Any thread: runs `delivery` on the JS thread. Dropped when the environment is going.
  void deliver(Delivery delivery);
  /// JS thread: a delivery is expected, so the event loop stays alive until it came.
  void expect();
  /// JS thread, in the delivery that was expected.
  void delivered();

  /// The less busy of the lanes for work on pixels.
  Lane& vision();
  /// fdatasync and nothing else.
  Lane& disk() { return disk_; }
  /// For closing what JavaScript dropped without closing.
  Lane& disposal() { return disposal_; }

  /// JS thread: `close` runs before the environment goes, and must end the threads of its object. It may
  /// block, and must not touch JavaScript. Urgent ones run first. Returns a handle for removeCloser().
  uint64_t addCloser(std::function<void()> close, bool urgent = false);
  void removeCloser(uint64_t handle);

  Napi::FunctionReference leaseConstructor;

 private:
  explicit Environment(Napi::Env env);
  ~Environment() = default;
  static void onCleanup(void* self);
  /// Ends every thread. Idempotent.
  void closeAll();
  static void callJs(Napi::Env env, Napi::Function, Environment* self, Delivery* delivery);
  using Channel = Napi::TypedThreadSafeFunction<Environment, Delivery, &Environment::callJs>;

  Napi::Env env_;
  Channel channel_;
  uint64_t expected_ = 0;
  std::map<uint64_t, std::function<void()>> urgentClosers_;
  std::map<uint64_t, std::function<void()>> closers_;
  uint64_t nextCloser_ = 1;
  Lane vision1_{"vision-1"};
  Lane vision2_{"vision-2"};
  Lane disk_{"disk"};
  Lane disposal_{"disposal"};
};

/// JS thread: runs `work` on `lane` and returns a promise of `toJs(env, result)`; an exception of either
/// rejects it. The work must not touch JavaScript: take everything out of the arguments first.
template <typename Work, typename ToJs>
Napi::Promise runOn(Lane& lane, Napi::Env env, Work work, ToJs toJs) {
  using Result = decltype(work());
  struct Job {
    Napi::Promise::Deferred deferred;
    Work work;
    ToJs toJs;
    std::unique_ptr<Result> result;
    std::exception_ptr error;
  };
  Environment& environment = Environment::of(env);
  auto job = std::make_shared<Job>(
      Job{Napi::Promise::Deferred::New(env), std::move(work), std::move(toJs), nullptr, nullptr});
  const Napi::Promise promise = job->deferred.Promise();
  environment.expect();
  const auto settle = [&environment, job](Napi::Env env2) {
    environment.delivered();
    try {
      if (job->error) std::rethrow_exception(job->error);
      job->deferred.Resolve(job->toJs(env2, *job->result));
    } catch (const Napi::Error& error) {
      job->deferred.Reject(error.Value());
    } catch (...) {
      job->deferred.Reject(toJsError(env2, std::current_exception()).Value());
    }
  };
  const bool posted = lane.post([&environment, job, settle] {
    try {
      job->result = std::make_unique<Result>(job->work());
    } catch (...) {
      job->error = std::current_exception();
    }
    environment.deliver(settle);
  });
  if (!posted) {
    job->error = std::make_exception_ptr(CodedError("LINK_ABORTED", "the native part is closing"));
    settle(env);
  }
  return promise;
}

}  // namespace surgiclaw::cell
