#include "surgiclaw/surgworld/renderer.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "egl_context.h"
#include "surgiclaw/surgworld/errors.h"

namespace surgiclaw::surgworld {
namespace {

constexpr int kMaxGeoms = 2000;

/// Everything that needs the context, made and unmade in the thread that owns it.
class Canvas {
 public:
  Canvas(const mjModel& model, int width, int height) : width_(width), height_(height), physics_(model) {
    mjv_defaultScene(&scene_);
    mjv_makeScene(physics_.model(), &scene_, kMaxGeoms);
    mjv_defaultOption(&option_);
    option_.flags[mjVIS_SKIN] = 1;
    mjv_defaultCamera(&camera_);
    camera_.type = mjCAMERA_FIXED;
    camera_.fixedcamid = mj_name2id(physics_.model(), mjOBJ_CAMERA, "view");
    mjr_defaultContext(&context_);
    mjr_makeContext(physics_.model(), &context_, mjFONTSCALE_100);
    mjr_setBuffer(mjFB_OFFSCREEN, &context_);
    if (context_.currentBuffer != mjFB_OFFSCREEN) {
      free();
      throw RenderingUnavailable("OpenGL has no framebuffer objects");
    }
  }
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  ~Canvas() { free(); }

  std::vector<std::uint8_t> draw(const Snapshot& snapshot) {
    const mjModel* model = physics_.model();
    mjData* data = physics_.data();
    const auto positions = static_cast<std::size_t>(model->nq);
    const auto fixtures = static_cast<std::size_t>(model->nmocap);
    if (snapshot.size() != positions + 7 * fixtures) throw WorldError("the snapshot is of another scene");
    const double* next = snapshot.data();
    std::copy_n(next, positions, data->qpos);
    std::copy_n(next += positions, 3 * fixtures, data->mocap_pos);
    std::copy_n(next += 3 * fixtures, 4 * fixtures, data->mocap_quat);
    mj_kinematics(physics_.model(), data);
    mj_comPos(physics_.model(), data);
    mj_camlight(physics_.model(), data);
    mj_tendon(physics_.model(), data);
    mjv_updateScene(physics_.model(), data, &option_, nullptr, &camera_, mjCAT_ALL, &scene_);
    const mjrRect area{0, 0, width_, height_};
    mjr_render(area, &scene_, &context_);
    const auto row = static_cast<std::size_t>(width_) * 3;
    std::vector<std::uint8_t> upward(row * static_cast<std::size_t>(height_));
    mjr_readPixels(upward.data(), nullptr, area, &context_);
    // OpenGL's rows begin at the bottom.
    std::vector<std::uint8_t> pixels(upward.size());
    for (int y = 0; y < height_; y++)
      std::copy_n(
          upward.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(height_ - 1 - y)), row,
          pixels.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(y)));
    return pixels;
  }

 private:
  void free() {
    mjr_freeContext(&context_);
    mjv_freeScene(&scene_);
  }

  int width_;
  int height_;
  EglContext egl_;
  Physics physics_;
  mjvScene scene_{};
  mjvOption option_{};
  mjvCamera camera_{};
  mjrContext context_{};
};

}  // namespace

class Renderer::Impl {
 public:
  Impl(const std::string& task, int width, int height) : width_(width), height_(height) {
    if (std::min(width, height) < 16 || std::max(width, height) > 1280)
      throw WorldError("a picture has 16 to 1280 pixels along each side");
    const TaskDefinition& definition = taskNamed(task);
    model_ = compileModel(definition.scene(definition));
    thread_ = std::thread([this] { run(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  std::vector<std::uint8_t> render(const Snapshot& snapshot) {
    Request request{snapshot, {}};
    std::future<std::vector<std::uint8_t>> picture = request.picture.get_future();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      requests_.push_back(std::move(request));
    }
    wake_.notify_one();
    return picture.get();
  }

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

 private:
  struct Request {
    Snapshot snapshot;
    std::promise<std::vector<std::uint8_t>> picture;
  };

  void run() {
    std::optional<Canvas> canvas;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ended_ || !requests_.empty(); });
      if (requests_.empty()) return;
      Request request = std::move(requests_.front());
      requests_.pop_front();
      lock.unlock();
      try {
        if (!canvas) canvas.emplace(*model_, width_, height_);
        request.picture.set_value(canvas->draw(request.snapshot));
      } catch (...) {
        request.picture.set_exception(std::current_exception());
      }
      lock.lock();
    }
  }

  int width_;
  int height_;
  std::shared_ptr<const mjModel> model_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Request> requests_;
  bool ended_ = false;
  std::thread thread_;
};

Renderer::Renderer(const std::string& task, int width, int height)
    : impl_(std::make_unique<Impl>(task, width, height)) {}
Renderer::~Renderer() = default;
int Renderer::width() const { return impl_->width(); }
int Renderer::height() const { return impl_->height(); }
std::vector<std::uint8_t> Renderer::render(const Snapshot& snapshot) { return impl_->render(snapshot); }

}  // namespace surgiclaw::surgworld
