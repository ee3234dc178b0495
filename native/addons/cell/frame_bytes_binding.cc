// What is done to the bytes of a frame, in native threads: JPEG and hash.
#include <napi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"
#include "surgiclaw/grabber/sha256.h"

namespace surgiclaw::cell {

namespace {

using Frame = std::shared_ptr<grabber::FrameLease>;

Lane& vision(Napi::Env env) { return Environment::of(env).vision(); }

Napi::Value encodeJpeg(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  const int quality = requireInteger(info[1], "quality", 0, 100);
  const int reduce = requireInteger(info[2], "reduce", 1, 64);
  return runOn(
      vision(info.Env()), info.Env(),
      [frame, quality, reduce] {
        const grabber::FrameInfo& f = frame->info();
        cv::Mat image(f.height, f.width, CV_8UC1, const_cast<uint8_t*>(f.pixels),
                      static_cast<size_t>(f.stride));
        if (reduce > 1) {
          cv::Mat reduced;
          const cv::Size size(std::max(1, f.width / reduce), std::max(1, f.height / reduce));
          cv::resize(image, reduced, size, 0, 0, cv::INTER_AREA);
          image = reduced;
        }
        std::vector<uint8_t> bytes;
        if (!cv::imencode(".jpg", image, bytes, {cv::IMWRITE_JPEG_QUALITY, quality})) {
          throw CodedError("INTERNAL", "the JPEG encoder gave nothing");
        }
        return bytes;
      },
      [](Napi::Env env, const std::vector<uint8_t>& bytes) {
        return Napi::Buffer<uint8_t>::Copy(env, bytes.data(), bytes.size());
      });
}

Napi::Value hashFrame(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  return runOn(
      vision(info.Env()), info.Env(),
      [frame] {
        const grabber::FrameInfo& f = frame->info();
        // Rows follow each other without gaps: a source delivers stride = width.
        return grabber::toHex(
            grabber::sha256(f.pixels, static_cast<size_t>(f.stride) * static_cast<size_t>(f.height)));
      },
      [](Napi::Env env, const std::string& hex) { return Napi::String::New(env, hex); });
}

}  // namespace

void addImageFunctions(Napi::Env env, Napi::Object geometry) {
  geometry.Set("encodeJpeg", Napi::Function::New<encodeJpeg>(env, "encodeJpeg"));
  geometry.Set("hashFrame", Napi::Function::New<hashFrame>(env, "hashFrame"));
}

}  // namespace surgiclaw::cell
