// FrameLease: a frame in JavaScript's hands.
#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "bindings.h"
#include "environment.h"

namespace surgiclaw::cell {

namespace {

constexpr napi_type_tag kFrameTag{0x8f0b3c5d1a2e4f60, 0x9c7d6e5f4a3b2c1d};

/// Keeps one slot of the ring while JavaScript may see its pixels. Held by the wrapper and by the
/// ArrayBuffer.
struct Hold {
  std::shared_ptr<grabber::FrameLease> lease;
};

/// The pixels become an ArrayBuffer only when JavaScript asks for them, which it seldom does. That buffer is
/// detached when the lease is released: a view kept longer has length 0 instead of showing another frame.
class JsFrame : public Napi::ObjectWrap<JsFrame> {
 public:
  struct Content {
    std::string camera;
    grabber::FrameLease lease;
  };

  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "FrameLease",
                       {
                           InstanceAccessor<&JsFrame::camera>("camera"),
                           InstanceAccessor<&JsFrame::sequence>("sequence"),
                           InstanceAccessor<&JsFrame::hostTimestampS>("hostTimestampS"),
                           InstanceAccessor<&JsFrame::deviceTimestampNs>("deviceTimestampNs"),
                           InstanceAccessor<&JsFrame::trigger>("trigger"),
                           InstanceAccessor<&JsFrame::width>("width"),
                           InstanceAccessor<&JsFrame::height>("height"),
                           InstanceAccessor<&JsFrame::pixels>("pixels"),
                           InstanceMethod<&JsFrame::release>("release"),
                       });
  }

  explicit JsFrame(const Napi::CallbackInfo& info) : Napi::ObjectWrap<JsFrame>(info) {
    if (!info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "frames come from a Camera");
    auto* const content = info[0].As<Napi::External<Content>>().Data();
    camera_ = std::move(content->camera);
    info_ = content->lease.info();
    hold_ = std::make_shared<Hold>();
    hold_->lease = std::make_shared<grabber::FrameLease>(std::move(content->lease));
    info.This().As<Napi::Object>().TypeTag(&kFrameTag);
  }

  std::shared_ptr<grabber::FrameLease> lease() const { return hold_->lease; }

 private:
  Napi::Value camera(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), camera_); }
  Napi::Value sequence(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(info_.sequence));
  }
  Napi::Value hostTimestampS(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(info_.hostMonotonicNs) * 1e-9);
  }
  Napi::Value deviceTimestampNs(const Napi::CallbackInfo& info) {
    return Napi::BigInt::New(info.Env(), info_.deviceTimestampNs);
  }
  Napi::Value trigger(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(info_.trigger));
  }
  Napi::Value width(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), info_.width); }
  Napi::Value height(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), info_.height); }

  Napi::Value pixels(const Napi::CallbackInfo& info) {
    if (!hold_->lease) throw toJsError(info.Env(), released());
    if (!pixels_.IsEmpty()) return pixels_.Value();
    const size_t bytes = static_cast<size_t>(info_.stride) * static_cast<size_t>(info_.height);
    // Until JavaScript has let go of the buffer, or release() has detached it, the slot is held.
    auto* const held = new std::shared_ptr<Hold>(hold_);
    const Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(
        info.Env(), const_cast<uint8_t*>(info_.pixels), bytes,
        [](Napi::Env, void*, std::shared_ptr<Hold>* owned) { delete owned; }, held);
    const Napi::Uint8Array view = Napi::Uint8Array::New(info.Env(), bytes, buffer, 0);
    pixels_ = Napi::Persistent(view.As<Napi::Object>());
    return view;
  }

  Napi::Value release(const Napi::CallbackInfo& info) {
    if (!pixels_.IsEmpty()) {
      pixels_.Value().As<Napi::Uint8Array>().ArrayBuffer().Detach();
      pixels_.Reset();
    }
    hold_->lease.reset();
    return info.Env().Undefined();
  }

  static std::exception_ptr released() {
    return std::make_exception_ptr(CodedError("INTERNAL", "the frame was released before this use"));
  }

  std::string camera_;
  grabber::FrameInfo info_;
  std::shared_ptr<Hold> hold_;
  Napi::ObjectReference pixels_;
};

}  // namespace

std::shared_ptr<grabber::FrameLease> frameOf(const Napi::Value& value, const std::string& what) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kFrameTag)) {
    throw Napi::TypeError::New(value.Env(), what + " must be a frame of a Camera");
  }
  auto lease = JsFrame::Unwrap(value.As<Napi::Object>())->lease();
  if (!lease) {
    throw toJsError(value.Env(),
                    std::make_exception_ptr(CodedError("INTERNAL", what + " was released already")));
  }
  return lease;
}

Napi::Object wrapFrame(Napi::Env env, const std::string& camera, grabber::FrameLease lease) {
  JsFrame::Content content{camera, std::move(lease)};
  return Environment::of(env).leaseConstructor.New({Napi::External<JsFrame::Content>::New(env, &content)});
}

void initFrames(Napi::Env env, Napi::Object) {
  Environment::of(env).leaseConstructor = Napi::Persistent(JsFrame::define(env));
}

}  // namespace surgiclaw::cell
