// Beats out of the pipe from the daemon, which may have died in the middle of one.
#include "surgiclaw/guardian/beat_reader.h"

#include <cstring>
#include <vector>

#include "pieces.h"

using surgiclaw::fuzz::inPieces;
using surgiclaw::fuzz::require;
using surgiclaw::guardian::BeatReader;
using surgiclaw::realtime::Beat;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  BeatReader single;
  BeatReader pieces;
  std::vector<Beat> bySingle;
  std::vector<Beat> byPiece;
  for (size_t i = 1; i < size; ++i)
    single.feed(data + i, 1, [&](const Beat& beat) { bySingle.push_back(beat); });
  inPieces(data + 1, size - 1, data[0], [&](const uint8_t* bytes, size_t count) {
    pieces.feed(bytes, count, [&](const Beat& beat) { byPiece.push_back(beat); });
  });
  require(bySingle.size() == byPiece.size() && single.skipped() == pieces.skipped(),
          "pieces make no difference");
  for (size_t i = 0; i < bySingle.size(); ++i) {
    require(std::memcmp(&bySingle[i], &byPiece[i], sizeof(Beat)) == 0, "pieces make no difference");
    require(bySingle[i].magic == surgiclaw::realtime::kBeatMagic, "a beat begins with its magic number");
  }
  const uint64_t used = bySingle.size() * sizeof(Beat) + single.skipped();
  require(used <= size - 1 && size - 1 - used < sizeof(Beat), "every byte is of a beat, skipped, or waiting");
  // Garbage may end as a beat begins, and swallow the next one; it cannot swallow two.
  Beat good{};
  good.magic = surgiclaw::realtime::kBeatMagic;
  for (int i = 0; i < 2; ++i) {
    single.feed(reinterpret_cast<const unsigned char*>(&good), sizeof(good),
                [&](const Beat& beat) { bySingle.push_back(beat); });
  }
  require(!bySingle.empty() && std::memcmp(&bySingle.back(), &good, sizeof(good)) == 0,
          "a beat after garbage is read");
  return 0;
}
