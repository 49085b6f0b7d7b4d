#include "tile_sizes.hpp"

#include <cyclotron/support/error.hpp>

#include "../../engine/tensors.hpp"

namespace cyclotron::runtime::simulator {
namespace {

constexpr TileSize unknown{};

/// Propagates sizes along moves, messages and operators until nothing changes.
class Inference {
 public:
  Inference(const program::Program& program, const std::vector<Code>& codes)
      : program_(program), codes_(codes), tensors_(access_tensors(program, {}, false)) {
    for (const auto& channel : program.channels)
      sizes_.channels.push_back(channel.tile == Shape{} ? TileSize{1, 1} : unknown);
    for (const auto& pe_class : program.classes) sizes_.slots.emplace_back(pe_class.slots.size());
  }

  std::optional<TileSizes> run() {
    while (changed_ && constant_) {
      changed_ = false;
      missing_ = false;
      for (std::size_t c = 0; c < codes_.size(); ++c) {
        for (const Step& step : codes_[c].steps) visit(codes_[c], step, sizes_.slots[c]);
      }
    }
    if (!constant_ || missing_) return std::nullopt;
    return std::move(sizes_);
  }

 private:
  void join(TileSize& into, TileSize found, std::int64_t most_rows, std::int64_t most_columns) {
    if (found == unknown) {
      missing_ = true;
    } else if (found.rows > most_rows || found.columns > most_columns) {
      constant_ = false;
    } else if (into == unknown) {
      into = found;
      changed_ = true;
    } else if (into != found) {
      constant_ = false;
    }
  }
  void join(std::vector<TileSize>& slots, const SlotAccess& access, TileSize found) {
    join(slots[access.slot], found, access.tile.rows, access.tile.columns);
  }
  void join_channel(std::uint32_t channel, TileSize found) {
    const Shape most = program_.channels[channel].tile;
    join(sizes_.channels[channel], found, most.rows, most.columns);
  }

  static TileSize read(const std::vector<TileSize>& slots, const SlotAccess& access) {
    return access.scalar ? TileSize{1, 1} : slots[access.slot];
  }

  [[nodiscard]] TileSize loaded(std::uint32_t tensor) {
    const auto& found = program_.tensors[tensor];
    const std::vector<std::int64_t> first(found.shape.size(), 0);
    for (std::size_t d = 0; d < found.shape.size(); ++d) {
      const bool same = found.shape[d] % found.tile[d] == 0 || found.shape[d] < found.tile[d];
      if (!same || found.shape[d] == 0) constant_ = false;
    }
    return constant_ ? tensors_[tensor].size(first.data()) : unknown;
  }

  [[nodiscard]] TileSize computed(const Code& code, const Step& step, const std::vector<TileSize>& slots) {
    const auto shapes = operand_shapes(code, step, slots);
    for (const Shape& shape : shapes) {
      if (shape.rows == 0) return unknown;
    }
    try {
      const Shape result = operators::result_shape(step.op, step.flags, shapes);
      return {static_cast<std::int32_t>(result.rows), static_cast<std::int32_t>(result.columns)};
    } catch (const ShapeError&) {  // the interpreter says where
      constant_ = false;
      return unknown;
    }
  }

  void visit(const Code& code, const Step& step, std::vector<TileSize>& slots) {
    switch (step.kind) {
      case Step::Kind::loop:
      case Step::Kind::branch:
      case Step::Kind::repeat:
      case Step::Kind::skip:
      case Step::Kind::exit:
      case Step::Kind::halt: return;
      case Step::Kind::load: return join(slots, code.accesses[step.access], loaded(step.tensor));
      case Step::Kind::store:
        missing_ = missing_ || read(slots, code.accesses[step.access]) == unknown;
        return;
      case Step::Kind::send:
      case Step::Kind::broadcast:
        return join_channel(code.ports[step.port].channel, read(slots, code.accesses[step.access]));
      case Step::Kind::receive:
        return join(slots, code.accesses[step.access], sizes_.channels[code.ports[step.port].channel]);
      case Step::Kind::move: {
        const Source& source = code.sources[step.operands.first];
        const TileSize size = source.constant ? TileSize{1, 1} : read(slots, code.accesses[source.index]);
        return join(slots, code.accesses[step.access], size);
      }
      case Step::Kind::compute: return join(slots, code.accesses[step.access], computed(code, step, slots));
    }
  }

  const program::Program& program_;
  const std::vector<Code>& codes_;
  std::vector<TensorAccess> tensors_;
  TileSizes sizes_;
  bool changed_ = true;
  bool missing_ = false;  // A size that is needed is not known yet.
  bool constant_ = true;
};

}  // namespace

std::optional<TileSizes> constant_tile_sizes(const program::Program& program,
                                             const std::vector<Code>& codes) {
  return Inference(program, codes).run();
}

std::vector<Shape> operand_shapes(const Code& code, const Step& step, const std::vector<TileSize>& slots) {
  std::vector<Shape> result;
  for (std::uint32_t n = 0; n < step.operands.count; ++n) {
    const Source& source = code.sources[step.operands.first + n];
    const bool one = source.constant || code.accesses[source.index].scalar;
    result.push_back(one ? Shape{1, 1} : slots[code.accesses[source.index].slot].shape());
  }
  return result;
}

}  // namespace cyclotron::runtime::simulator
