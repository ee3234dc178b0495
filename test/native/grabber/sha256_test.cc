// Vectors of FIPS 180-4 and the NIST example values (CSRC, "SHA-256 examples").
#include "surgiclaw/grabber/sha256.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace surgiclaw::grabber;

namespace {

std::string hexOf(const std::string& text, bool portable) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  return toHex(portable ? sha256Portable(bytes, text.size()) : sha256(bytes, text.size()));
}

}  // namespace

TEST(Sha256, publishedVectors) {
  for (const bool portable : {false, true}) {
    EXPECT_EQ(hexOf("abc", portable), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hexOf("", portable), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hexOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", portable),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(
        hexOf("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopq"
              "rsmnopqrstnopqrstu",
              portable),
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    EXPECT_EQ(hexOf(std::string(1'000'000, 'a'), portable),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(Sha256, fastAndPortableCodeAgreeAtEveryLengthAroundABlock) {
  std::vector<uint8_t> bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + 11);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_EQ(sha256(bytes.data(), size), sha256Portable(bytes.data(), size)) << size;
  }
}
