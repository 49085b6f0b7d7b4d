// Operators as functions of C's own types, for loops in the machine's own code.
#include <type_traits>

#include "../kernels/functions.hpp"
#include "scalar_text.hpp"

namespace cyclotron::runtime {

namespace {

template <class T>
inline constexpr bool is_of_c = std::is_arithmetic_v<T>;

}  // namespace

void* c_function(Op op, DType dtype) {
  if (!operators::is_elementwise(op)) return nullptr;
  return with_type(dtype, [&]<class T>() -> void* {
    return functions::visit<T>(op, []<class F>(F function) -> void* {
      if constexpr (std::is_same_v<F, std::nullptr_t>) {
        return nullptr;
      } else {
        return []<class R, class... A>(F call, R (F::*)(A...) const) -> void* {
          if constexpr (is_of_c<R> && (is_of_c<A> && ...)) {
            R (*const address)(A...) = call;
            return reinterpret_cast<void*>(address);
          }
          return nullptr;
        }(function, &F::operator());
      }
    });
  });
}

}  // namespace cyclotron::runtime
