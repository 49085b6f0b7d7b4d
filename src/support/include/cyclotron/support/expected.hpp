// A value, or the reason why there is none: `std::expected` of C++23, as far as it is needed.
#pragma once
#include <utility>
#include <variant>

namespace cyclotron {

template <class T, class E>
class Expected {
 public:
  // Implicit, so that a function returns the one or the other.
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(E error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  /// Requires: there is a value. Throws std::bad_variant_access else.
  [[nodiscard]] T& operator*() { return std::get<0>(state_); }
  [[nodiscard]] const T& operator*() const { return std::get<0>(state_); }
  [[nodiscard]] T* operator->() { return &std::get<0>(state_); }
  [[nodiscard]] const T* operator->() const { return &std::get<0>(state_); }
  /// Requires: there is none.
  [[nodiscard]] const E& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, E> state_;
};

}  // namespace cyclotron
