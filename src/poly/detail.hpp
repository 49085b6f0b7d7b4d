// Shared by the sources of this folder: checked ownership and conversions between isl and plain values.
#pragma once
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/mat.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/printer.h>
#include <isl/schedule.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/val.h>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/interrupt.hpp>

namespace cyclotron::poly::detail {

/// The analysis is at one of its limits.
[[noreturn]] inline void refuse(isl_ctx* ctx, std::string message,
                                const char* help = "simplify the index constraints or split the kernel") {
  isl_ctx_reset_error(ctx);
  throw LegalityError({.code = "CYC299",
                       .obstacle = Obstacle::effort,
                       .span = {},
                       .message = std::move(message),
                       .notes = {},
                       .help = help});
}
[[noreturn]] void out_of_operations(isl_ctx* ctx);

/// The last error came of the limit on operations. isl's parser calls any end of its work a syntax error, but where no
/// operations are left, nothing can be allocated either.
inline bool is_out_of_operations(isl_ctx* ctx) {
  if (isl_ctx_last_error(ctx) == isl_error_quota) return true;
  isl_space* space = isl_space_params_alloc(ctx, 0);
  isl_space_free(space);
  return space == nullptr;
}

/// isl returned an error: the work was called off, out of operations, or a bug of ours.
[[noreturn]] inline void isl_failed(isl_ctx* ctx) {
  check_interrupt();
  if (is_out_of_operations(ctx)) out_of_operations(ctx);
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
/// Forgets that isl found fault with what it was given. That it is out of operations, or was called off, is thrown.
inline void forgive(const Context& context) {
  check_interrupt();
  if (is_out_of_operations(context.get())) out_of_operations(context.get());
  isl_ctx_reset_error(context.get());
}

/// Frees what isl gave.
struct Free {
  void operator()(isl_aff* value) const { isl_aff_free(value); }
  void operator()(isl_ast_build* value) const { isl_ast_build_free(value); }
  void operator()(isl_ast_expr* value) const { isl_ast_expr_free(value); }
  void operator()(isl_ast_node* value) const { isl_ast_node_free(value); }
  void operator()(isl_ast_node_list* value) const { isl_ast_node_list_free(value); }
  void operator()(isl_basic_map* value) const { isl_basic_map_free(value); }
  void operator()(isl_basic_set* value) const { isl_basic_set_free(value); }
  void operator()(isl_constraint* value) const { isl_constraint_free(value); }
  void operator()(isl_id* value) const { isl_id_free(value); }
  void operator()(isl_local_space* value) const { isl_local_space_free(value); }
  void operator()(isl_map* value) const { isl_map_free(value); }
  void operator()(isl_mat* value) const { isl_mat_free(value); }
  void operator()(isl_multi_aff* value) const { isl_multi_aff_free(value); }
  void operator()(isl_point* value) const { isl_point_free(value); }
  void operator()(isl_printer* value) const { isl_printer_free(value); }
  void operator()(isl_pw_multi_aff* value) const { isl_pw_multi_aff_free(value); }
  void operator()(isl_schedule* value) const { isl_schedule_free(value); }
  void operator()(isl_set* value) const { isl_set_free(value); }
  void operator()(isl_stride_info* value) const { isl_stride_info_free(value); }
  void operator()(isl_space* value) const { isl_space_free(value); }
  void operator()(isl_union_map* value) const { isl_union_map_free(value); }
  void operator()(isl_val* value) const { isl_val_free(value); }
  void operator()(char* text) const { std::free(text); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

template <class T>
Owned<T> own(const Context& context, T* value) {
  return Owned<T>(checked(context, value));
}

inline std::int64_t take_int(const Context& context, isl_val* value) {
  const auto owned = own(context, value);
  CYC_CHECK(isl_val_is_int(value) == isl_bool_true);
  const std::int64_t result = isl_val_get_num_si(value);
  if (isl_ctx_last_error(context.get()) != isl_error_none)
    refuse(context.get(), "the exact integer analysis of this kernel comes to numbers beyond 64 bits");
  return result;
}
inline std::string take_text(const Context& context, char* text) { return own(context, text).get(); }

template <class Whole, class... Parts>
using ForEach = isl_stat (*)(Whole*, isl_stat (*)(Parts*..., void*), void*);

/// Gives the visitor what isl's `for_each` finds in the whole. What it throws would leave isl's frames without their
/// cleaning up: it waits until isl has returned.
template <class... Parts, class Whole, class Visitor>
void visit(const Context& context, std::type_identity_t<ForEach<Whole, Parts...>> for_each, Whole* whole,
           Visitor visitor) {
  struct State {
    Visitor& visitor;
    std::exception_ptr thrown;
  } state{visitor, nullptr};
  const auto guarded = [](Parts*... parts, void* user) noexcept {
    auto& of_visit = *static_cast<State*>(user);
    try {
      of_visit.visitor(Owned<Parts>(parts)...);
      return isl_stat_ok;
    } catch (...) {
      of_visit.thrown = std::current_exception();
      return isl_stat_error;
    }
  };
  const isl_stat status = for_each(whole, guarded, &state);
  if (state.thrown) std::rethrow_exception(state.thrown);
  checked(context, status);
}

}  // namespace cyclotron::poly::detail
