// One MuJoCo model with its state. Lengths are model metres, see task.h.
#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <memory>
#include <string>

namespace surgiclaw::surgworld {

/// Compiles MJCF text. @throws WorldError with MuJoCo's own words
std::shared_ptr<const mjModel> compileModel(const std::string& mjcf);

class Physics {
 public:
  /// Copies the model: welds, collision bits and the like are switched per world.
  explicit Physics(const mjModel& model);

  mjModel* model() { return model_.get(); }
  [[nodiscard]] const mjModel* model() const { return model_.get(); }
  mjData* data() { return data_.get(); }
  [[nodiscard]] const mjData* data() const { return data_.get(); }

  /// The first state, with nothing left of what was before.
  void reset();
  /// Positions and contacts of the present state; call it after the state was set.
  void prepare();
  /// One time step from a prepared state to the next prepared one.
  void advance();
  /// @throws DivergedError
  void requireFinite(const std::string& where) const;

  /// Index by name. @throws WorldError when the model has none
  [[nodiscard]] int body(const char* name) const { return find(mjOBJ_BODY, name); }
  [[nodiscard]] int geom(const char* name) const { return find(mjOBJ_GEOM, name); }
  [[nodiscard]] int joint(const char* name) const { return find(mjOBJ_JOINT, name); }
  [[nodiscard]] int equality(const char* name) const { return find(mjOBJ_EQUALITY, name); }
  [[nodiscard]] int actuator(const char* name) const { return find(mjOBJ_ACTUATOR, name); }

  [[nodiscard]] Eigen::Vector3d position(int body) const;
  [[nodiscard]] Eigen::Quaterniond orientation(int body) const;
  /// Of a body with a free joint: m/s in the world frame.
  [[nodiscard]] Eigen::Vector3d velocity(int body) const;
  /// Puts a body with a free joint somewhere, at rest.
  void place(int body, const Eigen::Vector3d& position, const Eigen::Quaterniond& orientation);
  /// Puts a fixture (a mocap body) somewhere.
  void fix(int body, const Eigen::Vector3d& position, double yaw = 0);
  /// Whether two geoms touch.
  [[nodiscard]] bool touching(int geomA, int geomB) const;
  /// Whether a geom touches any geom of a body.
  [[nodiscard]] bool touchingBody(int geom, int body) const;

 private:
  struct Free {
    void operator()(mjModel* model) const { mj_deleteModel(model); }
    void operator()(mjData* data) const { mj_deleteData(data); }
  };
  [[nodiscard]] int find(mjtObj kind, const char* name) const;

  std::unique_ptr<mjModel, Free> model_;
  std::unique_ptr<mjData, Free> data_;
};

}  // namespace surgiclaw::surgworld
