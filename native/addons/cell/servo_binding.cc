// Servo: the alignment loop, from JavaScript.
#include <napi.h>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"
#include "lane.h"
#include "surgiclaw/realtime/clock.h"
#include "surgiclaw/realtime/heart.h"
#include "surgiclaw/servo/alignment_loop.h"

namespace surgiclaw::cell {

namespace {

/// How old the newest heartbeat may be while a stage moves. Longer than the guardian's own patience: this is
/// the servo's share of "no guardian, no motion", not a second watchdog.
constexpr uint64_t kHeartbeatLimitNs = 150'000'000;

/// Servo thread.
const char* vitals() {
  const uint64_t newest = realtime::Heart::newestBeatNs();
  const uint64_t now = realtime::monotonicNs();
  if (newest == 0) return "no heartbeat goes to a guardian";
  if (now > newest && now - newest > kHeartbeatLimitNs) {
    return "the heartbeat is silent: the event loop hangs, or the guardian is gone";
  }
  return nullptr;
}

servo::AxisOptions axisFromJs(const Napi::Value& value, const std::string& what) {
  const Napi::Object object = requireObject(value, what);
  servo::AxisOptions axis;
  axis.axis = requireInteger(object.Get("axis"), what + ".axis", 1, 32);
  const Napi::Array entries = requireArray(object.Get("pxPerPulse"), what + ".pxPerPulse", 4);
  for (uint32_t i = 0; i < 4; ++i) axis.pxPerPulse[i] = requireNumber(entries.Get(i), what + ".pxPerPulse");
  axis.minPulses = requireInteger(object.Get("minPulses"), what + ".minPulses", servo::kAriesMinPulses,
                                  servo::kAriesMaxPulses);
  axis.maxPulses = requireInteger(object.Get("maxPulses"), what + ".maxPulses", servo::kAriesMinPulses,
                                  servo::kAriesMaxPulses);
  axis.approach = requireInteger(object.Get("approach"), what + ".approach", -1, 1);
  return axis;
}

servo::AlignmentOptions optionsFromJs(const Napi::Object& object) {
  servo::AlignmentOptions options;
  options.host = requireString(object.Get("host"), "options.host");
  options.port = requireInteger(object.Get("port"), "options.port", 1, 65535);
  options.speedTable = requireInteger(object.Get("speedTable"), "options.speedTable", 0, 9);
  const Napi::Value axes = object.Get("axes");
  if (!axes.IsArray()) throw Napi::TypeError::New(object.Env(), "options.axes must be an array");
  for (uint32_t i = 0; i < axes.As<Napi::Array>().Length(); ++i) {
    options.axes.push_back(
        axisFromJs(axes.As<Napi::Array>().Get(i), "options.axes[" + std::to_string(i) + "]"));
  }
  options.tolerancePx = requireNumber(object.Get("tolerancePx"), "options.tolerancePx");
  options.consecutive = requireInteger(object.Get("consecutive"), "options.consecutive", 1, 1000);
  options.maxIterations = requireInteger(object.Get("maxIterations"), "options.maxIterations", 1, 10000);
  options.shrinkFactor = requireNumber(object.Get("shrinkFactor"), "options.shrinkFactor");
  options.shrinkSteps = requireInteger(object.Get("shrinkSteps"), "options.shrinkSteps", 1, 1000);
  options.maxStepPulses =
      requireInteger(object.Get("maxStepPulses"), "options.maxStepPulses", 1, servo::kAriesMaxPulses);
  options.approachPulses =
      requireInteger(object.Get("approachPulses"), "options.approachPulses", 0, servo::kAriesMaxPulses);
  options.timeoutS = requireNumber(object.Get("timeoutS"), "options.timeoutS", 1e-3, 3600);
  return options;
}

Napi::Value reportToJs(Napi::Env env, const servo::AlignmentReport& report) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("status", servo::statusName(report.status));
  object.Set("detail", report.detail);
  object.Set("iterations", report.iterations);
  Napi::Array errors = Napi::Array::New(env, 2);
  Napi::Array needles = Napi::Array::New(env, 2);
  for (uint32_t view = 0; view < 2; ++view) {
    errors.Set(view, report.errorPx[view]);
    needles.Set(view, needleToJs(env, report.needles[view]));
  }
  object.Set("errorPx", errors);
  object.Set("needles", needles);
  Napi::Array positions = Napi::Array::New(env, report.positionsPulses.size());
  for (uint32_t i = 0; i < report.positionsPulses.size(); ++i) positions.Set(i, report.positionsPulses[i]);
  object.Set("positionsPulses", positions);
  object.Set("frameToCommandS", report.frameToCommandS);
  return object;
}

/// The loop that runs now. JS thread only, so that stop() needs no lock; shared with the environment's
/// closer, which may outlive the JavaScript object.
struct Running {
  std::shared_ptr<servo::AlignmentLoop> loop;
  void stop() const {
    if (loop) loop->stop();
  }
};

class JsServo : public Napi::ObjectWrap<JsServo> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Servo",
                       {
                           InstanceMethod<&JsServo::run>("run"),
                           InstanceMethod<&JsServo::stop>("stop"),
                       });
  }

  explicit JsServo(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<JsServo>(info), environment_(Environment::of(info.Env())) {}

  ~JsServo() override {
    if (closer_ != 0) environment_.removeCloser(closer_);
    now_->stop();
    lane_->finish();
  }

 private:
  Napi::Value run(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (now_->loop) {
      throw toJsError(env, std::make_exception_ptr(CodedError("COMMAND_INVALID", "this servo runs already")));
    }
    const Napi::Object object = requireObject(info[0], "options");
    servo::AlignmentOptions options = optionsFromJs(object);
    const Napi::Array views = requireArray(object.Get("views"), "options.views", 2);
    std::array<std::unique_ptr<servo::Eye>, 2> eyes;
    for (uint32_t i = 0; i < 2; ++i) {
      const std::string what = "options.views[" + std::to_string(i) + "]";
      const Napi::Object view = requireObject(views.Get(i), what);
      eyes[i] = servo::needleEye(frameSourceOf(view.Get("camera"), what + ".camera"));
      options.priors[i] = needleFromJs(view.Get("prior"), what + ".prior");
      options.goals[i] = {requireNumber(view.Get("goalX"), what + ".goalX"),
                          requireNumber(view.Get("goalY"), what + ".goalY")};
    }
    if (const std::string problem = servo::alignmentProblem(options); !problem.empty()) {
      throw Napi::RangeError::New(env, "options: " + problem);
    }
    const auto loop = std::make_shared<servo::AlignmentLoop>(std::move(options), std::move(eyes[0]),
                                                             std::move(eyes[1]), &vitals);
    now_->loop = loop;
    if (closer_ == 0) {
      closer_ = environment_.addCloser([now = now_, lane = lane_] {
        now->stop();
        lane->finish();
      });
    }
    Ref();  // not to be collected while its thread works
    return runOn(
        *lane_, env, [loop] { return runGuarded(*loop); },
        [this](Napi::Env env2, const servo::AlignmentReport& report) {
          now_->loop.reset();
          Unref();
          return reportToJs(env2, report);
        });
  }

  /// A defect in the loop must not leave the stage moving, nor the servo locked.
  static servo::AlignmentReport runGuarded(servo::AlignmentLoop& loop) {
    try {
      return loop.run();
    } catch (const std::exception& error) {
      loop.stop();
      servo::AlignmentReport report;
      report.detail = std::string("defect in the loop: ") + error.what();
      return report;
    }
  }

  void stop(const Napi::CallbackInfo&) { now_->stop(); }

  Environment& environment_;
  const std::shared_ptr<Running> now_ = std::make_shared<Running>();
  const std::shared_ptr<Lane> lane_ = std::make_shared<Lane>("servo");
  uint64_t closer_ = 0;
};

}  // namespace

void initServo(Napi::Env env, Napi::Object exports) { exports.Set("Servo", JsServo::define(env)); }

}  // namespace surgiclaw::cell
