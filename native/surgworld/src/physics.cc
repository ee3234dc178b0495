#include "surgiclaw/surgworld/physics.h"

#include <array>
#include <cmath>
#include <cstring>
#include <mutex>

#include "surgiclaw/surgworld/errors.h"

namespace surgiclaw::surgworld {
namespace {

// MuJoCo's own handlers write a log file into the working folder. What matters is counted in the state.
void ignoreWarning(const char* /*message*/) {}

void quietMujoco() {
  static std::once_flag once;
  std::call_once(once, [] { mju_user_warning = ignoreWarning; });
}

}  // namespace

std::shared_ptr<const mjModel> compileModel(const std::string& mjcf) {
  quietMujoco();
  constexpr const char* kName = "scene.xml";
  const auto files = std::make_unique<mjVFS>();
  mj_defaultVFS(files.get());
  if (mj_makeEmptyFileVFS(files.get(), kName, static_cast<int>(mjcf.size())) != 0)
    throw WorldError("no room for the scene's text");
  std::memcpy(files->filedata[mj_findFileVFS(files.get(), kName)], mjcf.data(), mjcf.size());
  std::array<char, 1000> error{};
  mjModel* model = mj_loadXML(kName, files.get(), error.data(), static_cast<int>(error.size()));
  mj_deleteVFS(files.get());
  if (model == nullptr) throw WorldError(std::string("MuJoCo refuses the scene: ") + error.data());
  return {model, [](const mjModel* m) { mj_deleteModel(const_cast<mjModel*>(m)); }};
}

Physics::Physics(const mjModel& model)
    : model_(mj_copyModel(nullptr, &model)), data_(mj_makeData(model_.get())) {
  if (!model_ || !data_) throw WorldError("no memory for a world");
}

void Physics::reset() { mj_resetData(model_.get(), data_.get()); }

void Physics::prepare() { mj_step1(model_.get(), data_.get()); }

void Physics::advance() {
  // The second half first: so positions and contacts always belong to the state that is looked at.
  mj_step2(model_.get(), data_.get());
  mj_step1(model_.get(), data_.get());
}

void Physics::requireFinite(const std::string& where) const {
  for (const mjtWarning kind : {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_BADCTRL,
                                mjWARN_CNSTRFULL, mjWARN_CONTACTFULL}) {
    if (data_->warning[kind].number > 0)
      throw DivergedError(where + ": " +
                          mju_warningText(kind, static_cast<size_t>(data_->warning[kind].lastinfo)));
  }
}

int Physics::find(mjtObj kind, const char* name) const {
  const int id = mj_name2id(model_.get(), kind, name);
  if (id < 0) throw WorldError(std::string("the scene has no ") + name);
  return id;
}

Eigen::Vector3d Physics::position(int body) const {
  return Eigen::Map<const Eigen::Vector3d>(data_->xpos + 3 * body);
}

Eigen::Quaterniond Physics::orientation(int body) const {
  const mjtNum* q = data_->xquat + 4 * body;
  return {q[0], q[1], q[2], q[3]};
}

Eigen::Vector3d Physics::velocity(int body) const {
  const int at = model_->jnt_dofadr[model_->body_jntadr[body]];
  return Eigen::Map<const Eigen::Vector3d>(data_->qvel + at);
}

void Physics::place(int body, const Eigen::Vector3d& position, const Eigen::Quaterniond& orientation) {
  const int joint = model_->body_jntadr[body];
  mjtNum* q = data_->qpos + model_->jnt_qposadr[joint];
  for (int i = 0; i < 3; i++) q[i] = position[i];
  q[3] = orientation.w();
  q[4] = orientation.x();
  q[5] = orientation.y();
  q[6] = orientation.z();
  mju_zero(data_->qvel + model_->jnt_dofadr[joint], 6);
}

void Physics::fix(int body, const Eigen::Vector3d& position, double yaw) {
  const int at = model_->body_mocapid[body];
  for (int i = 0; i < 3; i++) data_->mocap_pos[3 * at + i] = position[i];
  const std::array<mjtNum, 4> turned{std::cos(yaw / 2), 0, 0, std::sin(yaw / 2)};
  mju_copy4(data_->mocap_quat + 4 * at, turned.data());
}

bool Physics::touching(int geomA, int geomB) const {
  for (int i = 0; i < data_->ncon; i++) {
    const mjContact& contact = data_->contact[i];
    if ((contact.geom1 == geomA && contact.geom2 == geomB) ||
        (contact.geom1 == geomB && contact.geom2 == geomA))
      return true;
  }
  return false;
}

bool Physics::touchingBody(int geom, int body) const {
  for (int i = 0; i < data_->ncon; i++) {
    const mjContact& contact = data_->contact[i];
    if ((contact.geom1 == geom && model_->geom_bodyid[contact.geom2] == body) ||
        (contact.geom2 == geom && model_->geom_bodyid[contact.geom1] == body))
      return true;
  }
  return false;
}

}  // namespace surgiclaw::surgworld
