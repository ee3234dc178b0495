// A square sheet of gauze: mass points on a grid, each free to move, tied to their neighbours by springs that
// are stiff along the threads and soft across, and resting on the table by contact.
#pragma once

#include <string>
#include <vector>

#include "surgiclaw/surgworld/physics.h"

namespace surgiclaw::surgworld {

class Sheet {
 public:
  static constexpr double kThickness = 0.005;

  /// @param side points along a side @param spacing between them at rest
  Sheet(int side, double spacing) : side_(side), spacing_(spacing) {}

  /// MJCF of the points and of the skin that is drawn over them.
  [[nodiscard]] std::string bodies() const;
  [[nodiscard]] std::string skin(const char* material) const;
  static std::string pointName(int column, int row);

  /// Finds the points in a model; call it before anything below.
  void bind(const Physics& physics);
  /// Lays it flat; point (0, 0) at `corner`, columns along x and rows along y before turning.
  void lay(Physics& physics, const Eigen::Vector3d& corner, double yaw) const;
  /// Adds the springs' forces to the joints: before each time step.
  void pull(Physics& physics) const;
  [[nodiscard]] Eigen::Vector3d point(const Physics& physics, int column, int row) const;
  [[nodiscard]] Eigen::Vector3d velocity(const Physics& physics, int column, int row) const;
  [[nodiscard]] int side() const { return side_; }
  [[nodiscard]] double spacing() const { return spacing_; }

 private:
  struct Spring {
    int a;
    int b;
    double rest;
    double stiffness;
  };
  [[nodiscard]] int index(int column, int row) const { return row * side_ + column; }

  int side_;
  double spacing_;
  int firstPosition_ = 0;
  int firstVelocity_ = 0;
  std::vector<Spring> springs_;
};

}  // namespace surgiclaw::surgworld
