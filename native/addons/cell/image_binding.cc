// readImage: an image file as a frame, for micrographs that come from elsewhere.
#include <napi.h>

#include <memory>
#include <string>
#include <utility>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/grabber/image_file.h"

namespace surgiclaw::cell {

namespace {

Napi::Value readImage(const Napi::CallbackInfo& info) {
  const std::string file = requireString(info[0], "file");
  const std::string name = requireString(info[1], "name");
  const int bits = requireInteger(info[2], "bits", 0, 16);
  return runOn(
      Environment::of(info.Env()).vision(), info.Env(),
      [file, bits] {
        try {
          return std::make_shared<grabber::GreyImage>(grabber::readGreyImage(file, bits));
        } catch (const grabber::GrabberError& error) {
          throw CodedError("IMAGE_UNREADABLE", error.what());
        }
      },
      [name](Napi::Env env, const std::shared_ptr<grabber::GreyImage>& image) {
        grabber::FrameInfo frame;
        frame.width = image->width;
        frame.height = image->height;
        frame.stride = image->width;
        frame.pixels = image->pixels.data();
        const Napi::Object result = Napi::Object::New(env);
        result.Set("bits", image->bits);
        // The lease owns the pixels: they go with it.
        result.Set("frame", wrapFrame(env, name, grabber::FrameLease(frame, 0, [image] {})));
        return result;
      });
}

}  // namespace

void initImages(Napi::Env env, Napi::Object exports) {
  exports.Set("readImage", Napi::Function::New<readImage>(env, "readImage"));
}

}  // namespace surgiclaw::cell
