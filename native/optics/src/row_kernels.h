// The inner loops of a frame, one image row each, compiled for several instruction sets and chosen when the
// program starts (function multiversioning). Nothing here allocates.
#pragma once

#include <cstdint>

#include "surgiclaw/optics/scene.h"

namespace surgiclaw::optics {

/// out[i] = sum of four 16-bit rows by weights of 1/65536 (weights add up to at most 65535).
void blendFourRows(const std::uint16_t* a, const std::uint16_t* b, const std::uint16_t* c,
                   const std::uint16_t* d, const std::uint16_t weights[4], std::uint16_t* out, int count);

/// out[i] = scale * (in[i] * left + in[i + 1] * right), weights of 1/65536: a shift by a fraction of a pixel.
void shiftRow(const std::uint16_t* in, std::uint16_t left, std::uint16_t right, float scale, float* out,
              int count);

/// Four output pixels for each input sample: out[4 j + p] = sum over k of in[j + k] * weights[3 p + k].
void expandRow(const std::uint16_t* in, const float weights[12], float* out, int groups);

/// One straight, tapering, blurred bar on one row. All lengths in pixels; pixel i of the row counts from its
/// first.
struct BarRow {
  float along0, alongStep;          ///< position on the axis, from the bar's start
  float across0, acrossStep;        ///< signed distance from the axis
  float start0, startStep;          ///< distance inside the line that bounds the bar at its start
  float end0, endStep;              ///< and at its end
  float inverseLength;              ///< 1 / length
  float halfWidth, halfWidthSlope;  ///< at the start, and its change over the whole length
  float edgeFactor;                 ///< cosine of the taper: across the axis -> across the edge
  float defocus, defocusSlope;  ///< defocus term of sigma at the start, and its change over the whole length
  float reflectance;
  float highlight, highlightWidth;  ///< reflectance; width in half widths
};

/// coverage[i] and light[i] (coverage times reflectance) of the bar; its ends are straight lines.
void barBody(const BarRow& bar, ImageModel model, float* coverage, float* light, int count);

/// The same far from both ends.
void barMiddle(const BarRow& bar, ImageModel model, float* coverage, float* light, int count);

/// Strips into which a bar is cut lengthwise where the shape of a blurred end matters.
constexpr int kStrips = 8;

/// Like barBody, with ends that reach startReach[k] / endReach[k] pixels beyond their lines in lengthwise
/// strip k of equal widths: exact for any shape of end as the strips become narrow against the blur. `strips`
/// <= kStrips.
void barStrips(const BarRow& bar, ImageModel model, const float* startReach, const float* endReach,
               int strips, float* coverage, float* light, int count);

/// The end of a bar that is wide against its blur, where strips would show as stairs.
struct SharpEnd {
  bool atEnd;          ///< at the bar's end, not at its start
  float radius;        ///< of the bar there
  float slope, bulge;  ///< a cut end reaches slope q + bulge sqrt(1 - q^2) beyond its line; q: half widths
                       ///< off the axis
};

/// A half ball.
void barRound(const BarRow& bar, ImageModel model, const SharpEnd& end, float* coverage, float* light,
              int count);

/// Cut off by a plane.
void barCut(const BarRow& bar, ImageModel model, const SharpEnd& end, float* coverage, float* light,
            int count);

/// Lays a bar over a row. `taken` is what other parts of the same chain cover already: parts of one body lie
/// beside one another, so the bar covers only what they left free. `taken` may be null for a body of one
/// part.
void composite(float* row, float* taken, const float* coverage, const float* light, int count);

/// From reflectance to grey levels.
struct SensorRow {
  float electrons;        ///< per unit of reflectance in the image centre
  float vignetting;       ///< loss at distance 1
  float dy2;              ///< squared vertical distance from the image centre, corner = 1
  float dx0, dxStep;      ///< horizontal distance of pixel i from the centre, same unit
  float readVariance;     ///< electrons squared
  float noiseScale;       ///< of the noise tile's numbers
  float fullWell;         ///< electrons
  float greyPerElectron;  ///< gain included
  float blackLevel;
  float compression;  ///< of the disc model's response, 0 = linear
  float whiteGrey;    ///< grey range above black
};

/// Shot and read noise, full well, gain, response, 8 bits.
void senseRow(const SensorRow& sensor, const float* reflectance, const std::int8_t* noise, std::uint8_t* out,
              int count);

}  // namespace surgiclaw::optics
