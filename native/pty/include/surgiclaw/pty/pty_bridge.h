#pragma once

#include <string>

namespace surgiclaw::pty {

/// A pseudo-terminal in raw mode, reachable under a symbolic link, bridged to two descriptors.
///
/// The slave side stays open here, so that clients may open and close the link as they like without a hang-up
/// reaching the emulator: like a cable that stays plugged in while programs come and go.
class PtyBridge {
 public:
  /// Opens the terminal and places the link. An old symbolic link at `linkPath` is replaced, any other file
  /// is not.
  /// @throws std::system_error
  explicit PtyBridge(std::string linkPath);
  PtyBridge(const PtyBridge&) = delete;
  PtyBridge& operator=(const PtyBridge&) = delete;
  ~PtyBridge();

  /// The terminal itself, such as /dev/pts/4.
  [[nodiscard]] const std::string& terminalPath() const noexcept { return terminalPath_; }

  /// Carries bytes until `input` reaches its end or `output` is closed. Bytes that no client takes are
  /// dropped when the kernel's buffer is full: a serial line without flow control does the same.
  /// @throws std::system_error
  void run(int input, int output);

 private:
  std::string linkPath_;
  std::string terminalPath_;
  int master_ = -1;
  int slave_ = -1;
};

}  // namespace surgiclaw::pty
