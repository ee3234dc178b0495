#include "surgiclaw/guardian/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "surgiclaw/realtime/beat.h"
#include "write_now.h"

namespace surgiclaw::guardian {
namespace {

constexpr uint64_t kEndGraceNs = 5'000'000'000;
constexpr uint64_t kIdleNs = 200'000'000;

uint64_t monotonicNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

const char* truth(bool value) { return value ? "true" : "false"; }

}  // namespace

Privileges raisePrivileges() {
  Privileges granted;
  granted.memoryLocked = ::mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
  sched_param parameters{};
  parameters.sched_priority = 80;  // above the heartbeat and every servo thread, below the kernel's own
  granted.realtime = ::sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
  return granted;
}

Guardian::Guardian(const Options& options, const Privileges& privileges, ActionLog& log)
    : options_(options),
      privileges_(privileges),
      silenceNs_(static_cast<uint64_t>(options.silenceMs) * 1'000'000),
      log_(log) {
  // A connection takes its bytes at once; a serial line may hold up whoever writes to it, so it comes later.
  for (const AriesTcp& endpoint : options_.ariesTcp) links_.push_back(ariesTcpLink(endpoint, log_));
  for (const NeedleSerial& needle : options_.needles) links_.push_back(needleSerialLink(needle, log_));
  for (const NeedleModbus& needle : options_.modbusNeedles) links_.push_back(needleModbusLink(needle, log_));
  for (const AriesSerial& port : options_.ariesSerial) links_.push_back(ariesSerialLink(port, log_));
  for (const AriesConnection& connection : options_.ariesConnections)
    links_.push_back(ariesConnectionLink(connection, log_));
  for (const ScSerial& port : options_.scSerial) links_.push_back(scSerialLink(port, log_));
}

int Guardian::run() {
  uint64_t endNs = 0;
  for (;;) {
    const uint64_t nowNs = monotonicNs();
    // The pipe first: a guardian that was itself held up must not take its own delay for the daemon's
    // silence.
    if (!ended_) takeBeats(nowNs);
    if (goodbye_) {
      log_.write("goodbye", nowNs, ",\"beats\":" + std::to_string(beats_));
      return kExitGoodbye;
    }
    if (ended_ && endNs == 0) {
      endNs = nowNs;
      for (const auto& link : links_) link->inherit();
      act("end_of_stream", nowNs);
    } else if (silent(nowNs)) {
      act("silence", nowNs);
    }
    for (const auto& link : links_) link->tick(nowNs);
    if (ended_) {
      const bool settled =
          std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->settled(); });
      if (settled || nowNs - endNs > kEndGraceNs) {
        log_.write("ended", nowNs, std::string(",\"settled\":") + truth(settled));
        return kExitActed;
      }
    }
    reportWhenChanged();
    pollOnce(monotonicNs());
  }
}

void Guardian::takeBeats(uint64_t nowNs) {
  for (;;) {
    pollfd waiting{options_.beatFd, POLLIN, 0};
    if (::poll(&waiting, 1, 0) <= 0) return;
    unsigned char bytes[1024];
    const ssize_t got = ::read(options_.beatFd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      ended_ = true;
      return;
    }
    reader_.feed(bytes, static_cast<size_t>(got), [&](const realtime::Beat& beat) {
      ++beats_;
      lastBeat_ = beat;
      // Life is counted from when a beat was made, not from when it was read: what queued up in the pipe is
      // old.
      lastBeatNs_ = std::max(lastBeatNs_, std::min<uint64_t>(beat.monotonicNs, nowNs));
      if ((beat.flags & realtime::kBeatGoodbye) != 0) goodbye_ = true;
      if (state_ == State::kWaiting) state_ = State::kWatching;
      if (state_ == State::kTriggered && (beat.flags & realtime::kBeatRearm) != 0) {
        for (const auto& link : links_) link->cancel();
        state_ = State::kWatching;
        log_.write("rearmed", nowNs, "");
      }
    });
  }
}

bool Guardian::silent(uint64_t nowNs) const {
  return state_ == State::kWatching && !ended_ && nowNs > lastBeatNs_ && nowNs - lastBeatNs_ > silenceNs_;
}

void Guardian::act(const char* reason, uint64_t nowNs) {
  NeedleOrder needle;
  needle.retract = beats_ > 0 && (lastBeat_.flags & realtime::kBeatNeedleInTissue) != 0;
  needle.toMicrosteps = lastBeat_.retractToMicrosteps;
  state_ = State::kTriggered;
  ++triggers_;
  for (const auto& link : links_) link->stop(nowNs, needle);  // the bytes first, the account afterwards
  char silence[32];
  std::snprintf(silence, sizeof silence, "%.6f", static_cast<double>(nowNs - lastBeatNs_) * 1e-9);
  std::string fields = std::string(",\"reason\":\"") + reason + "\",\"beats\":" + std::to_string(beats_);
  if (beats_ > 0) fields += std::string(",\"sinceLastBeatS\":") + silence;
  fields += std::string(",\"needleInTissue\":") + truth(needle.retract);
  if (needle.retract) fields += ",\"retractToMicrosteps\":" + std::to_string(needle.toMicrosteps);
  log_.write("triggered", nowNs, fields);
}

bool Guardian::allReady() const {
  return std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->ready(); });
}

uint64_t Guardian::wakeNs(uint64_t nowNs) const {
  uint64_t wake = nowNs + kIdleNs;
  if (state_ == State::kWatching && !ended_) wake = std::min(wake, lastBeatNs_ + silenceNs_ + 1);
  for (const auto& link : links_) wake = std::min(wake, link->dueNs());
  return std::max(wake, nowNs);
}

void Guardian::pollOnce(uint64_t nowNs) {
  std::vector<pollfd> waiting;
  waiting.push_back({ended_ ? -1 : options_.beatFd, POLLIN, 0});
  for (const auto& link : links_) waiting.push_back(link->interest());
  const uint64_t leftNs = wakeNs(nowNs) - nowNs;
  const timespec left{static_cast<time_t>(leftNs / 1'000'000'000), static_cast<long>(leftNs % 1'000'000'000)};
  if (::ppoll(waiting.data(), waiting.size(), &left, nullptr) <= 0) return;
  const uint64_t afterNs = monotonicNs();
  for (size_t i = 0; i < links_.size(); ++i) {
    if (waiting[i + 1].fd >= 0 && waiting[i + 1].revents != 0)
      links_[i]->handle(waiting[i + 1].revents, afterNs);
  }
}

void Guardian::reportWhenChanged() {
  const bool armed = state_ == State::kWatching && allReady();
  std::string line = std::string("{\"armed\":") + truth(armed) +
                     ",\"triggered\":" + truth(state_ == State::kTriggered) +
                     ",\"beating\":" + truth(beats_ > 0) + ",\"triggers\":" + std::to_string(triggers_) +
                     ",\"realtime\":" + truth(privileges_.realtime) +
                     ",\"memoryLocked\":" + truth(privileges_.memoryLocked) + ",\"links\":[";
  for (size_t i = 0; i < links_.size(); ++i) {
    line += std::string(i == 0 ? "" : ",") + "{\"name\":" + jsonString(links_[i]->name()) +
            ",\"ready\":" + truth(links_[i]->ready()) + "}";
  }
  line += "]}\n";
  if (line == reported_ || ended_) return;
  // What the daemon does not take now is offered again at the next turn.
  if (writeNow(options_.statusFd, line.data(), line.size(), 0)) reported_ = line;
}

}  // namespace surgiclaw::guardian
