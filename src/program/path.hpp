// The place of a fault in a program, as text people know: `classes[3].code[7].operands[1]`.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cyclotron::program {

/// A field or an element of a list below its parent. Built on the stack on the way down; text only on
/// failure.
class Path {
 public:
  Path() = default;
  Path(const Path& parent, std::string_view field) : parent_(&parent), field_(field) {}
  Path(const Path& parent, std::size_t index) : parent_(&parent), index_(index), is_index_(true) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  /// The whole path, or `program` at the root.
  [[nodiscard]] std::string text() const {
    const std::string inner = below_root();
    return inner.empty() ? "program" : inner;
  }

 private:
  [[nodiscard]] std::string below_root() const {
    if (parent_ == nullptr) return {};
    const std::string outer = parent_->below_root();
    if (is_index_) return outer + "[" + std::to_string(index_) + "]";
    return outer.empty() ? std::string(field_) : outer + "." + std::string(field_);
  }

  const Path* parent_ = nullptr;
  std::string_view field_;
  std::size_t index_ = 0;
  bool is_index_ = false;
};

}  // namespace cyclotron::program
