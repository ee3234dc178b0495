// A curved suture needle: an arc of 150 degrees, 10 mm in radius, drawn as six capsules. The body's origin is
// the middle of the arc, its x points away from the arc's centre, its z along the arc's axis; the point is at
// the end towards +y.
#pragma once

#include <string>

#include "surgiclaw/surgworld/physics.h"

namespace surgiclaw::surgworld {

class Needle {
 public:
  static constexpr double kRadius = 0.05;
  static constexpr double kHalfAngle = 75 * M_PI / 180;
  static constexpr double kThickness = 0.0032;
  /// From end to end.
  static constexpr double kChord = 0.0966;

  /// MJCF of a body `needle` with a free joint.
  static std::string bodies();

  /// Where the arc is at an angle from its middle, in the body's frame.
  static Eigen::Vector3d onArc(double angle);

  explicit Needle(const Physics& physics) : body_(physics.body("needle")) {}

  [[nodiscard]] int body() const { return body_; }
  /// Lays it flat on the table with its middle at x, y.
  void lay(Physics& physics, double x, double y, double yaw) const;
  /// A point of the arc, world frame; -1 is the blunt end, 0 the middle, 1 the point.
  [[nodiscard]] Eigen::Vector3d at(const Physics& physics, double share) const;
  /// From a point to the nearest one of the arc.
  [[nodiscard]] double distance(const Physics& physics, const Eigen::Vector3d& from) const;
  /// Height of its lowest part above the table.
  [[nodiscard]] double clearance(const Physics& physics) const;
  /// Where the point looks, unit, world frame.
  [[nodiscard]] Eigen::Vector3d heading(const Physics& physics) const;

 private:
  int body_;
};

}  // namespace surgiclaw::surgworld
