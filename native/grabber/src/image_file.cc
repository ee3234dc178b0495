#include "surgiclaw/grabber/image_file.h"

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "surgiclaw/grabber/grabber_error.h"

namespace surgiclaw::grabber {

namespace {

cv::Mat decode(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    throw GrabberError(GrabberFault::missing, file + ": there is no such file");
  cv::Mat image;
  try {
    image = cv::imread(file, cv::IMREAD_GRAYSCALE | cv::IMREAD_ANYDEPTH);
  } catch (const cv::Exception&) {
    // Said below.
  }
  if (image.empty())
    throw GrabberError(GrabberFault::feature,
                       file + ": not an image that can be read (PNG, TIFF, JPEG, PGM, BMP)");
  if (image.depth() != CV_8U && image.depth() != CV_16U)
    throw GrabberError(GrabberFault::feature, file + ": grey levels must be whole numbers of 8 or 16 bits");
  return image;
}

int depthFor(double brightest) {
  for (const int bits : {8, 10, 12, 14}) {
    if (brightest < std::ldexp(1.0, bits)) return bits;
  }
  return 16;
}

}  // namespace

GreyImage readGreyImage(const std::string& file, int bits) {
  const cv::Mat image = decode(file);
  double brightest = 0;
  cv::minMaxLoc(image, nullptr, &brightest);
  GreyImage out;
  out.width = image.cols;
  out.height = image.rows;
  out.bits = image.depth() == CV_8U ? 8 : bits > 0 ? bits : depthFor(brightest);
  const double full = std::ldexp(1.0, out.bits) - 1;
  if (brightest > full)
    throw GrabberError(GrabberFault::feature, file + ": has grey level " +
                                                  std::to_string(static_cast<int>(brightest)) +
                                                  ", more than " + std::to_string(out.bits) + " bits hold");
  cv::Mat grey;
  image.convertTo(grey, CV_8U, 255.0 / full);
  out.pixels.assign(grey.datastart, grey.dataend);
  return out;
}

}  // namespace surgiclaw::grabber
