// Private to this folder: exact last-writer analysis.
#pragma once
#include <span>

#include <cyclotron/codegen/storage.hpp>
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::codegen {

/// True where every read of one of the flows, which share a slot, finds the value it wants. Exact; more than one have to
/// be computed.
[[nodiscard]] bool is_valid_storage(const mapping::Mapping& mapping, std::span<const mapping::FlowId> flows,
                                    const Storage& storage);

}  // namespace cyclotron::codegen
