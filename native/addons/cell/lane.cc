#include "lane.h"

#include <pthread.h>

#include <utility>

namespace surgiclaw::cell {

bool Lane::post(std::function<void()> job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (finished_) return false;
    jobs_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  posted_.notify_one();
  return true;
}

size_t Lane::load() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return jobs_.size() + (busy_ ? 1 : 0);
}

void Lane::finish() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
  }
  posted_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Lane::abandon() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
    dropped.swap(jobs_);
  }
  finish();
}

void Lane::run() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return finished_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    job();
    job = nullptr;  // what it held goes before the lane counts as idle
    lock.lock();
    busy_ = false;
  }
}

}  // namespace surgiclaw::cell
