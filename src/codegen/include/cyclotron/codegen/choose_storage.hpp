// The smallest storage in which all values survive until their last use.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <cyclotron/codegen/storage.hpp>
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::codegen {

/// Chooses the storage of every flow: a single place, an array over some loops of time, or a modular buffer; one for
/// several flows of a tensor where that takes less. Values of the loops that may end early lie at the same places in
/// all iterations, or in a few turns, where they take at most `room` bytes.
/// Requires: mapping from map_to_grid. Ensures: is_valid_storage for every slot.
[[nodiscard]] std::vector<Storage> choose_storage(const mapping::Mapping& mapping,
                                                  const std::set<std::string>& ending = {},
                                                  std::int64_t room = 0);

/// The storage of each flow, one a line.
[[nodiscard]] std::string to_string(const mapping::Mapping& mapping, const std::vector<Storage>& storage);

}  // namespace cyclotron::codegen
