// Needle, hook, loop, thread and cartridge of one frame, drawn row by row without any blur filter: each
// segment is a bar whose edges follow the edge spread function, with a blur of its own at every point of its
// axis.
#pragma once

#include <array>
#include <vector>

#include "bar.h"
#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/scene_state.h"
#include "surgiclaw/optics/view.h"

namespace surgiclaw::optics {

class BodyPainter {
 public:
  explicit BodyPainter(ImageModel model);

  /// Takes over the segments of a frame.
  void prepare(const std::vector<Segment>& segments, const View& view, const Vec3& surfacePoint,
               const Vec3& surfaceNormal, double dofM);

  /// Draws all of them over row y, columns [x, x + count), of reflectances.
  void row(int y, int x, int count, float* reflectance);

 private:
  void drawBar(const Bar& bar, int y, int x, int count, float* reflectance);
  void drawPiece(const Bar& bar, const BarRow& line, int column, int y, int width);

  ImageModel model_;
  double reach_;  ///< of the point spread, in sigma
  Bars bars_;
  /// Per chain, what its parts cover of the present row.
  std::vector<float> taken_;
  std::vector<char> touched_;
  std::array<float, kSensorSize> coverage_{};
  std::array<float, kSensorSize> light_{};
};

}  // namespace surgiclaw::optics
