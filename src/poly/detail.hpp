// Shared by the sources of this folder: checked ownership and conversions between isl and plain values.
#pragma once
#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/ilp.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::poly::detail {

[[noreturn]] inline void out_of_operations(isl_ctx* ctx) {
  isl_ctx_reset_error(ctx);
  throw LegalityError({.code = "CYC299",
                       .span = {},
                       .message = "the exact integer analysis of this kernel takes too long",
                       .notes = {},
                       .help = "simplify the index constraints or split the kernel"});
}

/// isl returned an error: out of operations, or a bug of ours.
[[noreturn]] inline void isl_failed(isl_ctx* ctx) {
  if (isl_ctx_last_error(ctx) == isl_error_quota) out_of_operations(ctx);
  const char* text = isl_ctx_last_error_msg(ctx);
  isl_ctx_reset_error(ctx);
  check_failed("isl", __FILE__, __LINE__, text == nullptr ? "unknown error" : text);
}

template <class T>
T* checked(const Context& context, T* value) {
  if (value == nullptr) isl_failed(context.get());
  return value;
}
inline bool checked(const Context& context, isl_bool value) {
  if (value == isl_bool_error) isl_failed(context.get());
  return value == isl_bool_true;
}
inline void checked(const Context& context, isl_stat status) {
  if (status != isl_stat_ok) isl_failed(context.get());
}
/// Forgets that isl found fault with what it was given. That it is out of operations is thrown.
inline void forgive(const Context& context) {
  if (isl_ctx_last_error(context.get()) == isl_error_quota) out_of_operations(context.get());
  isl_ctx_reset_error(context.get());
}

inline std::int64_t take_int(const Context& context, isl_val* value) {
  checked(context, value);
  CYC_CHECK(isl_val_is_int(value) == isl_bool_true);
  const std::int64_t result = isl_val_get_num_si(value);
  isl_val_free(value);
  return result;
}

}  // namespace cyclotron::poly::detail
