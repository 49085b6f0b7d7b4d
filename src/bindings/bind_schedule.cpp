// `_core.Schedule` and its parts, as records.
#include <cyclotron/schedule/schedule.hpp>

#include "bindings.hpp"
#include "records.hpp"

namespace py = pybind11;

namespace pybind11::detail {

using cyclotron::schedule::FoldKind;
using cyclotron::schedule::MovementKind;

template <>
struct type_caster<MovementKind> : cyclotron::bindings::NameCaster<MovementKind, MovementKind::prefetch> {};
template <>
struct type_caster<FoldKind> : cyclotron::bindings::NameCaster<FoldKind, FoldKind::cyclic> {};

}  // namespace pybind11::detail

namespace cyclotron::bindings {

void bind_schedule(py::module_& module) {
  using namespace schedule;
  using recurrence::Reassociation, recurrence::Tree;
  bind_record(module, "Movement", "The movement of one tensor.", Field("tensor", &Movement::tensor),
              Field("kind", &Movement::kind), Field("along", &Movement::along));
  bind_record(module, "Fold", "A grid dimension shared out over fewer PEs.",
              Field("dimension", &Fold::dimension), Field("kind", &Fold::kind), Field("parts", &Fold::parts));
  bind_record(module, "Rotation", "A reduction index that starts where its PE is.",
              Field("index", &Rotation::index), Field("by", &Rotation::by));
  bind_record(module, "Reassociation", "A reduction in blocks.", Field("index", &Reassociation::index),
              Field("parts", &Reassociation::parts), Field("into", &Reassociation::into));
  bind_record(module, "Place", "The PEs in which an input lies before the run.",
              Field("tensor", &schedule::Place::tensor), Field("at", &schedule::Place::at));
  bind_record(module, "PanelCount", "A time index cut into panels.", Field("index", &PanelCount::index),
              Field("count", &PanelCount::count));
  bind_record(module, "Reduction", "A reduction in a tree; of radix 0, in two phases.",
              Field("index", &Tree::index), Field("radix", &Tree::radix));
  bind_record(
      module, "Schedule", "The place and time of a kernel's points, and the movements of its tensors.",
      Field("space_indices", &Schedule::space_indices), Field("time_indices", &Schedule::time_indices),
      Field("movements", &Schedule::movements), Field("folds", &Schedule::folds),
      Field("rotations", &Schedule::rotations), Field("reassociations", &Schedule::reassociations),
      Field("places", &Schedule::places), Field("panel_counts", &Schedule::panel_counts),
      Field("inward_indices", &Schedule::inward_indices),
      Field("descending_indices", &Schedule::descending_indices),
      Field("stage_indices", &Schedule::stage_indices), Field("reductions", &Schedule::reductions),
      Field("is_serpentine", &Schedule::is_serpentine));
  module.def(
      "placements",
      [](const recurrence::System& system, const std::vector<std::int64_t>& grid) {
        const auto found = schedule::placements(system, grid);
        std::vector<std::tuple<std::vector<std::string>, double, double, bool>> result;
        for (const auto* list : {&found.defaults, &found.others}) {
          for (const auto& p : *list)
            result.emplace_back(p.schedule.space_indices, p.cycles, p.pes, p.in_turn);
        }
        return result;
      },
      py::arg("system"), py::arg("grid"),
      "Placements without a schedule, defaults first: space, cycles and PEs, if these take turns.");
  module.def(
      "schedule_text", [](const Schedule& schedule) { return to_string(schedule); }, py::arg("schedule"),
      "The schedule in one line.");
  module.def("index_names", &index_names, py::arg("system"), "Every index of the kernel, outermost first.");
}

}  // namespace cyclotron::bindings
