#include <cyclotron/poly/schedule_tree.hpp>

#include <isl/union_map.h>
#include <isl/union_set.h>

#include "detail.hpp"

namespace cyclotron::poly {

using detail::own;
using detail::take_text;

namespace {

isl_union_set* united_sets(const Context& context, const std::vector<std::string>& texts) {
  isl_union_set* result = isl_union_set_read_from_str(context.get(), "{ }");
  for (const auto& text : texts)
    result = isl_union_set_union(result, isl_union_set_read_from_str(context.get(), text.c_str()));
  return result;
}

isl_union_map* united_maps(const Context& context, const std::vector<std::string>& texts) {
  isl_union_map* result = isl_union_map_read_from_str(context.get(), "{ }");
  for (const auto& text : texts)
    result = isl_union_map_union(result, isl_union_map_read_from_str(context.get(), text.c_str()));
  return result;
}

std::string tree_text(const Context& context, isl_schedule* schedule) {
  isl_printer* printer = isl_printer_to_str(context.get());
  printer = isl_printer_set_yaml_style(printer, ISL_YAML_STYLE_BLOCK);
  const auto printed = own(context, isl_printer_print_schedule(printer, schedule));
  return take_text(context, isl_printer_get_str(printed.get()));
}

}  // namespace

ScheduleTree schedule_tree(const Context& context, const std::vector<std::string>& domains,
                           const std::vector<std::string>& validity,
                           const std::vector<std::string>& proximity) {
  isl_schedule_constraints* wanted = isl_schedule_constraints_on_domain(united_sets(context, domains));
  wanted = isl_schedule_constraints_set_validity(wanted, united_maps(context, validity));
  wanted = isl_schedule_constraints_set_coincidence(wanted, united_maps(context, validity));
  wanted = isl_schedule_constraints_set_proximity(wanted, united_maps(context, proximity));
  auto schedule = own(context, isl_schedule_constraints_compute_schedule(wanted));
  auto tree = tree_text(context, schedule.get());
  const auto build = own(context, isl_ast_build_alloc(context.get()));
  const auto nest = own(context, isl_ast_build_node_from_schedule(build.get(), schedule.release()));
  return {std::move(tree), take_text(context, isl_ast_node_to_C_str(nest.get()))};
}

}  // namespace cyclotron::poly
