// The stage controller's lines as servo and guardian cut and read them. The first byte says into which pieces
// the rest is cut; the pieces must make no difference, and a good line after any garbage must be read.
#include <cstring>
#include <vector>

#include "pieces.h"
#include "surgiclaw/servo/aries_wire.h"

using surgiclaw::fuzz::inPieces;
using surgiclaw::fuzz::require;
using surgiclaw::servo::AriesLines;
using surgiclaw::servo::AriesReply;

namespace {

void feed(AriesLines& lines, const uint8_t* bytes, size_t count, std::vector<AriesReply>& replies) {
  while (count > 0) {
    const size_t fits = std::min(count, lines.room());
    require(fits > 0, "there is always room");
    std::memcpy(lines.space(), bytes, fits);
    lines.filled(fits);
    bytes += fits;
    count -= fits;
    AriesReply reply;
    while (lines.next(reply)) replies.push_back(reply);
  }
}

bool same(const AriesReply& a, const AriesReply& b) {
  return a.kind == b.kind && a.command == b.command && a.axis == b.axis && a.valueCount == b.valueCount &&
         a.values == b.values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::vector<AriesReply> bySingle;
  std::vector<AriesReply> byPiece;
  AriesLines single;
  AriesLines pieces;
  for (size_t i = 1; i < size; ++i) feed(single, data + i, 1, bySingle);
  inPieces(data + 1, size - 1, data[0],
           [&](const uint8_t* bytes, size_t count) { feed(pieces, bytes, count, byPiece); });
  require(bySingle.size() == byPiece.size(), "pieces make no difference");
  for (size_t i = 0; i < bySingle.size(); ++i) {
    const AriesReply& reply = bySingle[i];
    require(same(reply, byPiece[i]), "pieces make no difference");
    require(reply.kind == 'C' || reply.kind == 'W' || reply.kind == 'E', "nothing is a reply that is none");
    require(reply.axis >= -1 && reply.axis <= 32, "an axis that there may be");
    require(reply.valueCount >= 0 && reply.valueCount <= static_cast<int>(reply.values.size()), "values fit");
  }
  require(single.malformed() == pieces.malformed() && single.overlong() == pieces.overlong(),
          "and what was wrong is counted the same");
  const char good[] = "\r\nC\tRDP1\t-42\r\n";
  feed(single, reinterpret_cast<const uint8_t*>(good), sizeof(good) - 1, bySingle);
  require(!bySingle.empty() && bySingle.back().is("RDP", 1) && bySingle.back().values[0] == -42,
          "a good line after garbage is read");
  return 0;
}
