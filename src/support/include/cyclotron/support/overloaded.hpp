// The visitor idiom for std::variant: one lambda a case, no `auto` arm.
#pragma once

namespace cyclotron {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace cyclotron
