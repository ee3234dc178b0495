#include "sheet.h"

#include <cmath>
#include <sstream>

namespace surgiclaw::surgworld {
namespace {

// Explicit springs: the stiffest mode has to stay well below 2 / time step, 400 rad/s; these give 230.
constexpr double kPointMass = 0.005;
constexpr double kThread = 50;
constexpr double kAcross = 15;
constexpr double kSpringDamping = 0.15;
constexpr double kAir = 0.05;

}  // namespace

std::string Sheet::pointName(int column, int row) {
  return "gauze_" + std::to_string(column) + '_' + std::to_string(row);
}

std::string Sheet::bodies() const {
  std::ostringstream out;
  for (int row = 0; row < side_; row++) {
    for (int column = 0; column < side_; column++) {
      out << "<body name='" << pointName(column, row) << "'>";
      for (const char* axis : {"1 0 0", "0 1 0", "0 0 1"})
        out << "<joint type='slide' axis='" << axis << "' damping='" << kAir << "'/>";
      // Among themselves the points do not collide; on the table they slide more easily than solid things.
      out << "<geom type='sphere' size='" << kThickness << "' mass='" << kPointMass
          << "' contype='2' conaffinity='1' friction='0.3 0.01 0.001' priority='1' rgba='1 1 1 0'/></body>";
    }
  }
  return out.str();
}

std::string Sheet::skin(const char* material) const {
  std::ostringstream vertices;
  std::ostringstream faces;
  std::ostringstream coordinates;
  std::ostringstream bones;
  for (int row = 0; row < side_; row++) {
    for (int column = 0; column < side_; column++) {
      const double x = column * spacing_;
      const double y = row * spacing_;
      vertices << x << ' ' << y << " 0 ";
      coordinates << column / (side_ - 1.0) << ' ' << row / (side_ - 1.0) << ' ';
      bones << "<bone body='" << pointName(column, row) << "' bindpos='" << x << ' ' << y
            << " 0' bindquat='1 0 0 0' vertid='" << index(column, row) << "' vertweight='1'/>";
      if (row == side_ - 1 || column == side_ - 1) continue;
      const int a = index(column, row);
      const int b = index(column, row + 1);
      faces << a << ' ' << a + 1 << ' ' << b + 1 << ' ' << a << ' ' << b + 1 << ' ' << b << ' ';
    }
  }
  std::ostringstream out;
  out << "<asset><skin name='gauze' material='" << material << "' inflate='0.003' vertex='" << vertices.str()
      << "' texcoord='" << coordinates.str() << "' face='" << faces.str() << "'>" << bones.str()
      << "</skin></asset>";
  return out.str();
}

void Sheet::bind(const Physics& physics) {
  const int joint = physics.model()->body_jntadr[physics.body(pointName(0, 0).c_str())];
  firstPosition_ = physics.model()->jnt_qposadr[joint];
  firstVelocity_ = physics.model()->jnt_dofadr[joint];
  springs_.clear();
  const auto tie = [&](int a, int b, double rest, double stiffness) {
    springs_.push_back({3 * a, 3 * b, rest, stiffness});
  };
  for (int row = 0; row < side_; row++) {
    for (int column = 0; column < side_; column++) {
      const int here = index(column, row);
      if (column + 1 < side_) tie(here, index(column + 1, row), spacing_, kThread);
      if (row + 1 < side_) tie(here, index(column, row + 1), spacing_, kThread);
      if (column + 1 < side_ && row + 1 < side_) {
        tie(here, index(column + 1, row + 1), spacing_ * M_SQRT2, kAcross);
        tie(index(column + 1, row), index(column, row + 1), spacing_ * M_SQRT2, kAcross);
      }
    }
  }
}

void Sheet::lay(Physics& physics, const Eigen::Vector3d& corner, double yaw) const {
  for (int row = 0; row < side_; row++) {
    for (int column = 0; column < side_; column++) {
      const double x = column * spacing_;
      const double y = row * spacing_;
      mjtNum* q = physics.data()->qpos + firstPosition_ + 3 * index(column, row);
      q[0] = corner.x() + x * std::cos(yaw) - y * std::sin(yaw);
      q[1] = corner.y() + x * std::sin(yaw) + y * std::cos(yaw);
      q[2] = corner.z() + kThickness;
    }
  }
}

void Sheet::pull(Physics& physics) const {
  const mjtNum* q = physics.data()->qpos + firstPosition_;
  const mjtNum* v = physics.data()->qvel + firstVelocity_;
  mjtNum* force = physics.data()->qfrc_applied + firstVelocity_;
  mju_zero(force, 3 * side_ * side_);
  for (const Spring& spring : springs_) {
    const mjtNum* a = q + spring.a;
    const mjtNum* b = q + spring.b;
    const double x = b[0] - a[0];
    const double y = b[1] - a[1];
    const double z = b[2] - a[2];
    const double length = std::sqrt(x * x + y * y + z * z);
    if (length < 1e-9) continue;
    const mjtNum* va = v + spring.a;
    const mjtNum* vb = v + spring.b;
    const double rate = ((vb[0] - va[0]) * x + (vb[1] - va[1]) * y + (vb[2] - va[2]) * z) / length;
    const double along = (spring.stiffness * (length - spring.rest) + kSpringDamping * rate) / length;
    force[spring.a] += along * x;
    force[spring.a + 1] += along * y;
    force[spring.a + 2] += along * z;
    force[spring.b] -= along * x;
    force[spring.b + 1] -= along * y;
    force[spring.b + 2] -= along * z;
  }
}

Eigen::Vector3d Sheet::point(const Physics& physics, int column, int row) const {
  return Eigen::Map<const Eigen::Vector3d>(physics.data()->qpos + firstPosition_ + 3 * index(column, row));
}

Eigen::Vector3d Sheet::velocity(const Physics& physics, int column, int row) const {
  return Eigen::Map<const Eigen::Vector3d>(physics.data()->qvel + firstVelocity_ + 3 * index(column, row));
}

}  // namespace surgiclaw::surgworld
