// Saving a learner and going on from what was saved, bit for bit.
#include <array>
#include <string>

#include "byte_stream.h"
#include "sac_workspace.h"
#include "surgiclaw/learner/error.h"
#include "surgiclaw/learner/sac_learner.h"

namespace surgiclaw::learner {
namespace {

constexpr std::array<char, 8> kMagic{'S', 'C', 'L', 'e', 'a', 'r', 'n', '1'};

/// What must be the same on both sides, in text, so that a difference can be named.
std::string shapeOf(const Options& o, int bankRows) {
  std::string text = "observation " + std::to_string(o.observationSize) + ", action " +
                     std::to_string(o.actionSize) + ", hidden";
  for (const int width : o.hidden) text += " " + std::to_string(width);
  return text + ", batch " + std::to_string(o.batch) + ", ring " + std::to_string(o.ringCapacity) +
         ", seed " + std::to_string(o.seed) + ", bank rows " + std::to_string(bankRows);
}

}  // namespace

std::vector<std::uint8_t> SacLearner::save() const {
  ByteWriter out;
  out.put(kMagic);
  const std::string shape = shapeOf(options_, bankSize());
  out.put(static_cast<std::uint32_t>(shape.size()));
  out.put(shape.data(), shape.size());
  for (const Trained* trained : {&actor_, &critics_}) {
    out.put(trained->steps);
    for (const Floats* part : {&trained->parameters, &trained->firstMoments, &trained->secondMoments})
      out.put(part->data(), part->size());
  }
  out.put(targets_.data(), targets_.size());
  out.put(logTemperature_);
  out.put(temperatureMoment1_);
  out.put(temperatureMoment2_);
  out.put(temperatureSteps_);
  for (const Random* random : {&drawRandom_, &noiseRandom_, &actRandom_}) out.put(random->position());
  out.put(mean_.data(), mean_.size());
  out.put(scale_.data(), scale_.size());
  out.put(static_cast<std::int32_t>(ring_.size()));
  out.put(static_cast<std::int32_t>(ring_.next()));
  out.put(ring_.rows().row(0),
          static_cast<std::size_t>(ring_.size()) * static_cast<std::size_t>(ring_.rows().rowFloats()));
  return out.finish();
}

void SacLearner::restore(const std::uint8_t* data, std::size_t size) {
  ByteReader in(data, size);
  if (in.get<std::array<char, 8>>() != kMagic)
    throw LearnerError(ErrorKind::kCheckpoint, "this is no checkpoint of this version");
  std::string shape(in.get<std::uint32_t>() % 4096, ' ');
  in.get(shape.data(), shape.size());
  const std::string wanted = shapeOf(options_, bankSize());
  if (shape != wanted)
    throw LearnerError(ErrorKind::kCheckpoint,
                       "the checkpoint is of another learner: " + shape + " instead of " + wanted);
  for (Trained* trained : {&actor_, &critics_}) {
    trained->steps = in.get<std::uint64_t>();
    for (Floats* part : {&trained->parameters, &trained->firstMoments, &trained->secondMoments})
      in.get(part->data(), part->size());
  }
  in.get(targets_.data(), targets_.size());
  logTemperature_ = in.get<double>();
  temperatureMoment1_ = in.get<double>();
  temperatureMoment2_ = in.get<double>();
  temperatureSteps_ = in.get<std::uint64_t>();
  for (Random* random : {&drawRandom_, &noiseRandom_, &actRandom_}) random->seek(in.get<std::uint64_t>());
  in.get(mean_.data(), mean_.size());
  in.get(scale_.data(), scale_.size());
  const auto stored = in.get<std::int32_t>();
  const auto next = in.get<std::int32_t>();
  if (stored < 0 || stored > options_.ringCapacity || next < 0 || next >= options_.ringCapacity)
    throw LearnerError(ErrorKind::kCheckpoint, "the checkpoint's ring does not fit its capacity");
  in.get(ring_.rows().row(0),
         static_cast<std::size_t>(stored) * static_cast<std::size_t>(ring_.rows().rowFloats()));
  ring_.restore(stored, next);
  if (!in.atEnd()) throw LearnerError(ErrorKind::kCheckpoint, "the checkpoint is longer than it should be");
}

}  // namespace surgiclaw::learner
