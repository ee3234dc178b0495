// The native addon of the lab: physics of the learning tasks, and the learner. What of them is here depends
// on the libraries that the full set-up installs.
#include <napi.h>

#include "bindings.h"

static Napi::Object initModule(Napi::Env env, Napi::Object exports) {
#ifdef SURGICLAW_HAS_WORLD
  surgiclaw::lab::initWorld(env, exports);
#endif
#ifdef SURGICLAW_HAS_LEARNER
  surgiclaw::lab::initLearner(env, exports);
#endif
  return exports;
}
NODE_API_MODULE(lab, initModule)
