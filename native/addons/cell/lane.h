// A thread that works off jobs one after the other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

namespace surgiclaw::cell {

/// Jobs of one kind share a lane, so that a slow kind (opening a camera takes seconds) never delays another
/// (fdatasync before motion), as it would in Node's pool of four. The thread starts with the first job.
class Lane {
 public:
  explicit Lane(std::string name) : name_(std::move(name)) {}
  /// As finish().
  ~Lane() { finish(); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Any thread. The job must not throw. False, without running it, once the lane is finished.
  bool post(std::function<void()> job);
  /// Jobs waiting or running.
  size_t load() const;
  /// Does what was posted, then joins. Idempotent. Not from a job.
  void finish();
  /// Drops what has not begun, then joins. Idempotent. Not from a job.
  void abandon();

 private:
  void run();

  const std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  bool finished_ = false;
  std::thread thread_;
};
static_assert(!std::is_copy_constructible_v<Lane> && !std::is_move_constructible_v<Lane>);

}  // namespace surgiclaw::cell
