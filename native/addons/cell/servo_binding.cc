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
  const Members members(value, what);
  servo::AxisOptions axis;
  axis.axis = members.integer("axis", 1, 32);
  axis.pxPerPulse = members.numbers<4>("pxPerPulse");
  axis.minPulses = members.integer("minPulses", servo::kAriesMinPulses, servo::kAriesMaxPulses);
  axis.maxPulses = members.integer("maxPulses", servo::kAriesMinPulses, servo::kAriesMaxPulses);
  axis.approach = members.integer("approach", -1, 1);
  return axis;
}

/// `{host, port}`, or `{descriptor, stx, statusFields}` of a line that is lent.
servo::StageLine lineFromJs(const Members& members) {
  servo::StageLine line;
  if (members.has("host")) {
    line.host = members.text("host");
    line.port = members.integer("port", 1, 65535);
    return line;
  }
  line.descriptor = members.integer("descriptor", 0, 1 << 20);
  line.framing = members.flag("stx") ? servo::AriesFraming::kSerial : servo::AriesFraming::kTcp;
  line.statusFields = members.integer("statusFields", 5, 6);
  return line;
}

servo::AlignmentOptions optionsFromJs(const Napi::Value& value) {
  const Members members(value, "options");
  servo::AlignmentOptions options;
  options.stages = lineFromJs(members);
  options.speedTable = members.integer("speedTable", 0, 9);
  const Napi::Value axes = members.at("axes");
  if (!axes.IsArray()) throw Napi::TypeError::New(value.Env(), "options.axes must be an array");
  for (uint32_t i = 0; i < axes.As<Napi::Array>().Length(); ++i) {
    options.axes.push_back(
        axisFromJs(axes.As<Napi::Array>().Get(i), "options.axes[" + std::to_string(i) + "]"));
  }
  options.tolerancePx = members.number("tolerancePx");
  options.consecutive = members.integer("consecutive", 1, 1000);
  options.maxIterations = members.integer("maxIterations", 1, 10000);
  options.shrinkFactor = members.number("shrinkFactor");
  options.shrinkSteps = members.integer("shrinkSteps", 1, 1000);
  options.maxStepPulses = members.integer("maxStepPulses", 1, servo::kAriesMaxPulses);
  options.approachPulses = members.integer("approachPulses", 0, servo::kAriesMaxPulses);
  options.timeoutS = members.number("timeoutS", 1e-3, 3600);
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
    servo::AlignmentOptions options = optionsFromJs(info[0]);
    const Members members(info[0], "options");
    const Napi::Array views = requireArray(members.at("views"), members.path("views"), 2);
    std::array<std::unique_ptr<servo::Eye>, 2> eyes;
    for (uint32_t i = 0; i < 2; ++i) {
      const Members view(views.Get(i), members.path("views") + "[" + std::to_string(i) + "]");
      eyes[i] = servo::needleEye(frameSourceOf(view.at("camera"), view.path("camera")));
      options.priors[i] = needleFromJs(view.at("prior"), view.path("prior"));
      options.goals[i] = {view.number("goalX"), view.number("goalY")};
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
