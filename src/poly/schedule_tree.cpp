#include <cyclotron/poly/schedule_tree.hpp>

#include <cstdlib>

#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/printer.h>
#include <isl/schedule.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include "detail.hpp"

namespace cyclotron::poly {

using detail::checked;

namespace {

isl_union_set* united_sets(const Context& context, const std::vector<std::string>& texts) {
  isl_union_set* result = isl_union_set_read_from_str(context.get(), "{ }");
  for (const auto& text : texts)
    result = isl_union_set_union(result, isl_union_set_read_from_str(context.get(), text.c_str()));
  return checked(context, result);
}

isl_union_map* united_maps(const Context& context, const std::vector<std::string>& texts) {
  isl_union_map* result = isl_union_map_read_from_str(context.get(), "{ }");
  for (const auto& text : texts)
    result = isl_union_map_union(result, isl_union_map_read_from_str(context.get(), text.c_str()));
  return checked(context, result);
}

std::string take_text(const Context& context, char* text) {
  std::string result = checked(context, text);
  std::free(text);  // isl's strings are malloc's
  return result;
}

std::string tree_text(const Context& context, isl_schedule* schedule) {
  isl_printer* printer = isl_printer_to_str(context.get());
  printer = isl_printer_set_yaml_style(printer, ISL_YAML_STYLE_BLOCK);
  printer = checked(context, isl_printer_print_schedule(printer, schedule));
  auto result = take_text(context, isl_printer_get_str(printer));
  isl_printer_free(printer);
  return result;
}

}  // namespace

ScheduleTree schedule_tree(const Context& context, const std::vector<std::string>& domains,
                           const std::vector<std::string>& validity,
                           const std::vector<std::string>& proximity) {
  isl_schedule_constraints* wanted = isl_schedule_constraints_on_domain(united_sets(context, domains));
  wanted = isl_schedule_constraints_set_validity(wanted, united_maps(context, validity));
  wanted = isl_schedule_constraints_set_coincidence(wanted, united_maps(context, validity));
  wanted = isl_schedule_constraints_set_proximity(wanted, united_maps(context, proximity));
  isl_schedule* schedule = checked(context, isl_schedule_constraints_compute_schedule(wanted));
  auto tree = tree_text(context, schedule);
  isl_ast_build* build = isl_ast_build_alloc(context.get());
  isl_ast_node* nest = isl_ast_build_node_from_schedule(build, schedule);
  isl_ast_build_free(build);
  auto code = take_text(context, isl_ast_node_to_C_str(checked(context, nest)));
  isl_ast_node_free(nest);
  return {std::move(tree), std::move(code)};
}

}  // namespace cyclotron::poly
