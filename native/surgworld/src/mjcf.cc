#include "surgiclaw/surgworld/mjcf.h"

#include <sstream>

namespace surgiclaw::surgworld {

std::string sceneMjcf(const TaskDefinition& task, const SceneText& text) {
  std::ostringstream out;
  out << "<mujoco model='" << task.name << "'><compiler angle='radian' autolimits='true'/>"
      << "<option timestep='" << task.timeStepS << "' " << text.option << "/><size " << text.size << "/>"
      << R"(<visual><global offwidth="1280" offheight="1280"/><quality shadowsize="2048" offsamples="4"/>
<headlight ambient="0.35 0.35 0.35" diffuse="0.35 0.35 0.35" specular="0.1 0.1 0.1"/><map znear="0.05" zfar="20"/></visual>
<statistic extent="1" center="0 0 0.1"/>
<default><geom solref="0.01 1" friction="0.8 0.01 0.001"/></default>
<asset>
<texture name="sky" type="skybox" builtin="flat" rgb1="0.82 0.86 0.88" width="8" height="8"/>
<texture name="cloth" type="2d" builtin="checker" rgb1="0.24 0.42 0.45" rgb2="0.27 0.46 0.49" width="64" height="64"/>
<material name="drape" texture="cloth" texrepeat="60 60" specular="0.1" shininess="0.1"/>
<material name="shaft" rgba="0.25 0.26 0.29 1" specular="0.4"/>
<material name="steel" rgba="0.75 0.77 0.80 1" specular="0.8" shininess="0.6"/>
<material name="red" rgba="0.80 0.16 0.14 1"/>
<material name="yellow" rgba="0.93 0.75 0.15 1"/>
<material name="blue" rgba="0.15 0.35 0.75 1"/>
<material name="white" rgba="0.92 0.92 0.88 1"/>
<material name="pink" rgba="0.86 0.60 0.55 1"/>
<material name="green" rgba="0.20 0.70 0.30 1"/>
<material name="dark" rgba="0.15 0.16 0.18 1"/>
</asset>
<worldbody>
<light directional="true" castshadow="true" pos="-0.3 -0.5 1.5" dir="0.25 0.35 -1" diffuse="0.55 0.55 0.55" specular="0.2 0.2 0.2"/>
<camera name="view" pos="-0.27 -0.58 0.46" xyaxes="0.9066 -0.4220 0.0000 0.2297 0.4934 0.8390" fovy="26"/>
<geom name="table" type="plane" size="3 3 0.1" material="drape" contype="1" conaffinity="0"/>)"
      << text.bodies << Arm::bodies(task.arm) << "</worldbody><equality>" << text.equalities
      << Arm::equalities(task.arm) << "</equality>" << text.sections << "<actuator>"
      << Arm::actuators(task.arm) << "</actuator></mujoco>";
  return out.str();
}

}  // namespace surgiclaw::surgworld
