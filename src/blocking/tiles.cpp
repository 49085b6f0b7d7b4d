#include "tiles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <cyclotron/support/error.hpp>

#include "relax.hpp"

namespace cyclotron::blocking {

namespace {

constexpr std::size_t most_classes = 64;
constexpr std::int64_t short_axis = 4;    ///< No more elements may be read at one place, and are single then.
constexpr std::int64_t most_further = 8;  ///< Tiles that a window reaches into, along an axis.

/// Finds the indices and axes that meet.
class Aligner {
 public:
  Aligner(const System& system, NormalForm& form) : system_(system), form_(form) {
    for (std::size_t t = 0; t < system.tensors.size(); ++t) {
      axes_.emplace_back();
      for (std::size_t d = 0; d < system.tensors[t].shape.size(); ++d) axes_.back().push_back(node());
    }
  }

  Tiling run(const TileSizes& sizes) {
    for (std::size_t t = 0; t < form_.pieces.size(); ++t) {
      for (auto& piece : form_.pieces[t]) visit(TensorId(t), piece);
    }
    for (std::size_t t = 0; t < axes_.size(); ++t) {
      const auto rank = axes_[t].size();
      for (std::size_t d = 0; d < rank; ++d) {
        const auto root = find(axes_[t][d]);
        extent_[root] = std::max(extent_[root], system_.tensors[t].shape[d]);
        if (d + 2 < rank)
          single_.emplace(root, fmt::format("`{}` has {} axes, and tiles are matrices over the last two",
                                            system_.tensors[t].user_name(), rank));
      }
    }
    return sized(sizes);
  }

 private:
  std::size_t node() {
    parents_.push_back(parents_.size());
    return parents_.size() - 1;
  }
  std::size_t find(std::size_t number) {
    while (parents_[number] != number) number = parents_[number] = parents_[parents_[number]];
    return number;
  }
  void unite(std::size_t a, std::size_t b) { parents_[find(a)] = find(b); }

  void visit(TensorId target, Piece& piece) {
    const auto& own = axes_[target.index()];
    for (std::size_t d = 0; d < own.size(); ++d) name(own[d], piece.names[d]);
    constraints(piece.points, own);
    for (auto& term : piece.terms) {
      auto nodes = own;
      for (const auto& sum : term.sums) {
        nodes.push_back(node());
        name(nodes.back(), sum);
      }
      for (const auto& factor : term.factors) subscripts(factor, nodes, own.size(), piece.span);
      constraints(term.points, nodes);
    }
  }

  void name(std::size_t number, const std::string& text) {
    if (!text.empty()) names_.emplace_back(number, text);
  }

  void subscripts(const Factor& factor, const std::vector<std::size_t>& nodes, std::size_t rank,
                  const Span& span) {
    for (std::size_t d = 0; d < factor.index.size(); ++d) {
      const auto axis = axes_[factor.tensor.index()][d];
      if (const auto v = plain_variable(factor.index[d])) {
        unite(axis, nodes[*v]);
      } else if (poly::is_constant(factor.index[d])) {
        single_.emplace(find(axis), fmt::format("`{}` is read at one place of an axis",
                                                system_.at(factor.tensor).user_name()));
      } else if (const auto window = window_form(factor.index[d], rank)) {
        unite(axis, nodes[window->start]);
        windows_.push_back({nodes[window->start], nodes[window->place], span});
      } else {
        compute(factor, factor.index[d], axis, nodes, span);
      }
    }
  }

  /// Single elements of an axis may be read anywhere, by indices in steps of one.
  void compute(const Factor& factor, const poly::Affine& form, std::size_t axis,
               const std::vector<std::size_t>& nodes, const Span& span) {
    auto reason = fmt::format("a subscript of `{}` is neither an index nor a number",
                              system_.at(factor.tensor).user_name());
    single_.emplace(find(axis), reason);
    for (std::size_t v = 0; v < nodes.size(); ++v) {
      if (form.coefficients[v] != 0) single_.emplace(find(nodes[v]), reason);
    }
    if (!computed_) computed_ = {span, reason + ", so that it reads parts of several tiles"};
  }

  /// Indices in one constraint share tiles; bounds of one index do not count.
  void constraints(const poly::Set& points, const std::vector<std::size_t>& nodes) {
    const auto pieces = points.conjunctions();
    if (!pieces) return;
    for (const auto& piece : *pieces) {
      for (const auto& constraint : piece.constraints) {
        std::optional<std::size_t> first;
        for (std::size_t v = 0; v < nodes.size(); ++v) {
          if (constraint.form.coefficients[v] == 0) continue;
          if (first) unite(nodes[*first], nodes[v]);
          first = v;
        }
      }
    }
  }

  /// Throws LegalityError CYC231 where subscripts leave a tensor that is computed no tiles but single elements.
  void require_tiles(const std::map<std::size_t, std::string>& single) {
    for (std::size_t t = 0; t < axes_.size(); ++t) {
      const auto& shape = system_.tensors[t].shape;
      std::optional<std::string> reason;
      bool tiles = false;
      for (auto d = shape.size() - std::min<std::size_t>(shape.size(), 2); d < shape.size(); ++d) {
        const auto known = single.find(find(axes_[t][d]));
        tiles = tiles || (shape[d] > 1 && known == single.end());
        if (shape[d] > (computed_ ? 1 : short_axis) && known != single.end()) reason = known->second;
      }
      if (!reason || tiles || form_.pieces[t].empty()) continue;
      if (computed_) refuse(computed_->first, computed_->second);
      refuse(form_.pieces[t].front().span, *reason + ", so that its tiles are single elements");
    }
  }

  /// Some eight tiles of one that is long, of lengths that products are fast at.
  static std::int64_t fitting(std::int64_t extent) {
    if (extent <= 64) return extent;
    return std::clamp<std::int64_t>((extent / 8 + 31) / 32 * 32, 64, 256);
  }

  Tiling sized(const TileSizes& sizes) {
    std::map<std::size_t, IndexClass> classes;
    for (const auto& [number, text] : names_) {
      auto& names = classes[find(number)].indices;
      if (std::ranges::find(names, text) == names.end()) names.push_back(text);
    }
    std::map<std::size_t, std::string> single;
    for (const auto& [number, reason] : single_) single.emplace(find(number), reason);
    for (const auto& [start, place, span] : windows_) {
      if (!single.contains(find(place)) || single.contains(find(start))) continue;
      single.emplace(find(start), "the weights of its windows are single elements");
      if (!computed_)
        computed_ = {span,
                     "its windows are not along the rows and columns of tiles, with weights in one tile"};
    }
    require_tiles(single);
    std::set<std::string> used;
    for (auto& [root, item] : classes) {
      item.extent = extent_[root];
      std::optional<std::int64_t> wanted;
      for (const auto& index : item.indices) {
        const auto given = sizes.by_index.find(index);
        if (given == sizes.by_index.end()) continue;
        used.insert(index);
        if (wanted && *wanted != given->second)
          throw ShapeError({.code = "CYC232",
                            .span = {},
                            .message = fmt::format("tiles of {} and of {} for {}, which meet in an axis or a "
                                                   "condition",
                                                   *wanted, given->second, fmt::join(item.indices, ", ")),
                            .notes = {},
                            .help = "give them one length"});
        wanted = given->second;
      }
      const auto usual = sizes.all < 0 ? fitting(item.extent) : sizes.all;
      item.tile = std::clamp<std::int64_t>(wanted.value_or(usual), 1, std::max<std::int64_t>(1, item.extent));
      if (single.contains(root)) {
        item.tile = 1;
        item.reason = single.at(root);
      }
    }
    for (const auto& [start, place, span] : windows_) {
      auto& item = classes.at(find(place));
      if (single.contains(find(place))) continue;
      const bool whole = classes.at(find(start)).tile > 1;
      item.tile = whole ? std::max<std::int64_t>(1, item.extent) : 1;
      item.reason = whole ? "the weights of windows are one tile" : "its windows start at single elements";
    }
    for (const auto& [index, tile] : sizes.by_index) {
      if (used.contains(index)) continue;
      std::vector<std::string> all;
      for (const auto& [root, item] : classes)
        all.insert(all.end(), item.indices.begin(), item.indices.end());
      throw ShapeError({.code = "CYC232",
                        .span = {},
                        .message = fmt::format("tiles of {} for `{}`, which is no index of `{}`", tile, index,
                                               system_.kernel),
                        .notes = {},
                        .help = fmt::format("its indices are: {}", fmt::join(all, ", "))});
    }
    Tiling tiling;
    for (std::size_t t = 0; t < axes_.size(); ++t) {
      tiling.axes.emplace_back();
      for (const auto axis : axes_[t]) {
        const auto root = find(axis);
        const auto item = classes.find(root);
        const bool one = single.contains(root);
        tiling.axes.back().push_back(item != classes.end() ? item->second.tile
                                     : one                 ? 1
                                                           : std::max<std::int64_t>(1, extent_[root]));
      }
    }
    for (auto& [root, item] : classes) tiling.classes.push_back(std::move(item));
    return tiling;
  }

  const System& system_;
  NormalForm& form_;
  std::vector<std::size_t> parents_;
  std::vector<std::vector<std::size_t>> axes_;
  struct Window {
    std::size_t start, place;  ///< Inside.
    Span span;
  };
  std::vector<Window> windows_;
  /// The first subscript that asks for single elements, and the reason why it reads no tiles.
  std::optional<std::pair<Span, std::string>> computed_;
  std::vector<std::pair<std::size_t, std::string>> names_;
  std::map<std::size_t, std::int64_t> extent_;
  std::map<std::size_t, std::string> single_;
};

}  // namespace

std::vector<std::vector<poly::Affine>> tiles_of(const TileFactor& factor) {
  std::vector<std::vector<poly::Affine>> result;
  const auto axes = factor.tile.size();
  for (std::int64_t row = 0; row <= factor.further_rows; ++row) {
    for (std::int64_t column = 0; column <= factor.further_columns; ++column) {
      auto tile = factor.tile;
      if (row > 0) tile[axes >= 2 ? axes - 2 : 0].constant += row;
      if (column > 0) tile[axes - 1].constant += column;
      result.push_back(std::move(tile));
    }
  }
  return result;
}

Tiling choose_tiles(const System& system, NormalForm& form, const TileSizes& sizes) {
  return Aligner(system, form).run(sizes);
}

namespace {

/// The points of a set over (tiles, inside) by tiles with the same points inside.
struct Group {
  poly::Set tiles;
  poly::Set inner;
};

/// Of a piece or a term: its variables with the lengths of their tiles and their extents.
struct Variables {
  std::vector<std::int64_t> tile;
  std::vector<std::int64_t> extent;
};

class Cutter {
 public:
  Cutter(const System& system, const NormalForm& form, const Tiling& tiling, const poly::Context& context)
      : system_(system), form_(form), tiling_(tiling), context_(context) {}

  std::vector<Cell> run() {
    for (std::size_t t = 0; t < form_.pieces.size(); ++t) {
      if (!form_.pieces[t].empty()) cut_tensor(TensorId(t));
    }
    return std::move(cells_);
  }

 private:
  /// Points over (tiles, inside), each number of points the whole of its tile; ends of the tensor do not count.
  [[nodiscard]] std::vector<Group> group(const poly::Set& points, const Variables& variables,
                                         const Span& span) {
    const auto count = variables.tile.size();
    std::vector<poly::Affine> scalar;
    std::vector<poly::Constraint> inside;
    std::vector<poly::Affine> only_tiles, only_inner;
    for (std::size_t v = 0; v < count; ++v) {
      const auto tile = poly::variable(2 * count, v), place = poly::variable(2 * count, count + v);
      const auto length = variables.tile[v];
      scalar.push_back(length * tile + place);
      const auto last = std::max<std::int64_t>(0, (variables.extent[v] - 1) / length);
      inside.push_back({tile, false});
      inside.push_back({poly::constant(2 * count, last) - tile, false});
      inside.push_back({place, false});
      inside.push_back({poly::constant(2 * count, length - 1) - place, false});
      only_tiles.push_back(tile);
      only_inner.push_back(place);
    }
    const auto all = relax(points, variables.extent).preimage(scalar, 2 * count).intersect(inside);
    std::vector<Group> groups;
    auto left = project_first(all, count);
    const auto box = poly::Set::where(context_, 2 * count, inside);
    while (!left.is_empty()) {
      if (++classes_ > most_classes * 8 || groups.size() >= most_classes)
        refuse(span, fmt::format("its tiles are of more than {} classes", most_classes),
               "align its bounds with each other, or choose tiles that divide the distance between them");
      const auto sample = left.sample();
      auto fixed = identity_forms(count, count);
      std::vector<poly::Affine> at;
      for (std::size_t v = 0; v < count; ++v) at.push_back(poly::constant(count, sample->at(v)));
      at.insert(at.end(), fixed.begin(), fixed.end());
      const auto inner = all.preimage(at, count).coalesce();
      const auto everywhere = inner.preimage(only_inner, 2 * count).intersect(box);
      const auto others = project_first(all.subtract(everywhere), count)
                              .unite(project_first(everywhere.subtract(all), count));
      const auto tiles = left.subtract(others).coalesce();
      CYC_CHECK(!tiles.is_empty());
      groups.push_back({tiles, inner});
      left = left.subtract(tiles);
    }
    return groups;
  }

  void cut_tensor(TensorId target) {
    const auto& tensor = system_.at(target);
    const auto& pieces = form_.pieces[target.index()];
    const auto rank = tensor.shape.size();
    const Variables own{tiling_.axes[target.index()], tensor.shape};
    auto first = Cell{target, all_tiles(own), names_of(pieces), {}};
    first.rows = rank == 0 ? 1 : own.tile[rank >= 2 ? rank - 2 : 0];
    first.columns = rank >= 2 ? own.tile[rank - 1] : 1;
    first.vector = rank == 1 || (first.rows == 1 && first.columns > 1);
    std::vector<Cell> cells{std::move(first)};
    for (const auto& piece : pieces) {
      std::vector<Cell> refined;
      const auto groups = group(piece.points, own, piece.span);
      for (const auto& cell : cells) {
        auto rest = cell.tiles;
        for (const auto& [tiles, inner] : groups) {
          auto part = cell;
          part.tiles = cell.tiles.intersect(tiles).coalesce();
          if (part.tiles.is_empty()) continue;
          rest = rest.subtract(part.tiles);
          part.pieces.push_back({matrix_points(inner, rank, 0), {}, piece.function, piece.span});
          for (const auto& term : piece.terms) add_terms(part, term, tensor, piece.span);
          refined.push_back(std::move(part));
        }
        if (rest.is_empty()) continue;
        auto part = cell;
        part.tiles = rest.coalesce();
        refined.push_back(std::move(part));
      }
      cells = std::move(refined);
    }
    for (auto& cell : cells) {
      if (cell.pieces.empty() && tensor.role == recurrence::Role::local) continue;
      cells_.push_back(std::move(cell));
    }
    if (cells_.size() > most_classes)
      refuse(tensor.span, fmt::format("its tiles are of more than {} classes", most_classes));
  }

  /// Names of a piece whose are not one, if one has such.
  static std::vector<std::string> names_of(const std::vector<Piece>& pieces) {
    const auto apart = [](const Piece& piece) {
      auto names = piece.names;
      std::ranges::sort(names);
      return std::ranges::adjacent_find(names) == names.end() && (names.empty() || !names.front().empty());
    };
    const auto found = std::ranges::find_if(pieces, apart);
    return (found == pieces.end() ? pieces.front() : *found).names;
  }

  [[nodiscard]] poly::Set all_tiles(const Variables& own) const {
    const auto rank = own.tile.size();
    std::vector<poly::Constraint> all;
    for (std::size_t d = 0; d < rank; ++d) {
      const auto tile = poly::variable(rank, d);
      all.push_back({tile, false});
      all.push_back(
          {poly::constant(rank, (own.extent[d] + own.tile[d] - 1) / own.tile[d] - 1) - tile, false});
    }
    return poly::Set::where(context_, rank, all);
  }

  /// Points inside over (row, column, sums) from those over (all axes, sums).
  [[nodiscard]] poly::Set matrix_points(const poly::Set& inner, std::size_t rank, std::size_t sums) const {
    const auto variables = 2 + sums;
    std::vector<poly::Affine> forms;
    for (std::size_t d = 0; d < rank; ++d) forms.push_back(axis_form(d, rank, variables));
    for (std::size_t s = 0; s < sums; ++s) forms.push_back(poly::variable(variables, 2 + s));
    auto result = inner.preimage(forms, variables);
    if (rank < 2) result = result.intersect({poly::variable(variables, 1), true});
    if (rank < 1) result = result.intersect({poly::variable(variables, 0), true});
    return result;
  }

  /// The place inside of a tile along an axis: rows and columns are the last two; of a vector rows are the only one.
  static poly::Affine axis_form(std::size_t axis, std::size_t rank, std::size_t variables) {
    if (axis + 2 == rank || rank == 1) return poly::variable(variables, 0);
    if (axis + 1 == rank) return poly::variable(variables, 1);
    return poly::constant(variables, 0);
  }

  void add_terms(Cell& cell, const Term& term, const recurrence::Tensor& target, const Span& span) {
    const auto rank = target.shape.size(), sums = term.sums.size();
    Variables variables{tiling_.axes[cell.tensor.index()], target.shape};
    for (std::size_t s = 0; s < sums; ++s) {
      std::int64_t tile = 0, extent = 0;
      for (const auto& factor : term.factors) {
        for (std::size_t d = 0; d < factor.index.size(); ++d) {
          if (plain_variable(factor.index[d]) != rank + s) continue;
          tile = tiling_.axes[factor.tensor.index()][d];
          const auto length = system_.at(factor.tensor).shape[d];
          extent = extent == 0 ? length : std::min(extent, length);
        }
      }
      if (tile == 0) {
        const auto last = last_in_single_steps(term, rank + s);
        if (!last) refuse(span, fmt::format("`{}` is summed over and is in no subscript", term.sums[s]));
        tile = 1;
        extent = *last + 1;
      }
      variables.tile.push_back(tile);
      variables.extent.push_back(extent);
    }
    for (const auto& [tiles, inner] : group(term.points, variables, span)) {
      const auto own = tiles.intersect(insert_coordinates(cell.tiles, rank, sums)).coalesce();
      if (own.is_empty()) continue;
      TileTerm part{term.coefficient,
                    {},
                    term.sums,
                    own,
                    matrix_points(inner, rank, sums),
                    {variables.tile.begin() + static_cast<std::ptrdiff_t>(rank), variables.tile.end()}};
      for (const auto& factor : term.factors)
        part.factors.push_back(tile_factor(factor, rank, sums, variables.tile));
      add_windows(cell, term, std::move(part), target, variables, span);
    }
  }

  /// The last value of a sum's index from 0 on that is in subscripts of single elements only.
  [[nodiscard]] std::optional<std::int64_t> last_in_single_steps(const Term& term, std::size_t v) const {
    bool any = false;
    for (const auto& factor : term.factors) {
      for (std::size_t d = 0; d < factor.index.size(); ++d) {
        if (factor.index[d].coefficients[v] == 0) continue;
        if (tiling_.axes[factor.tensor.index()][d] != 1) return std::nullopt;
        any = true;
      }
    }
    const auto first = term.points.minimum(v);
    return any && first && *first >= 0 ? term.points.maximum(v) : std::nullopt;
  }

  /// Cuts a term where the last tiles of windows reach into fewer further ones.
  void add_windows(Cell& cell, const Term& term, TileTerm whole, const recurrence::Tensor& target,
                   const Variables& variables, const Span& span) {
    const auto rank = target.shape.size();
    std::vector<TileTerm> parts{std::move(whole)};
    for (std::size_t f = 0; f < term.factors.size(); ++f) {
      const auto& index = term.factors[f].index;
      for (std::size_t d = 0; d < index.size(); ++d) {
        const auto window = window_form(index[d], rank);
        if (!window) continue;
        if (in_single_steps(*window, variables.tile)) continue;
        const auto length = variables.tile[window->start], width = variables.extent[window->place];
        const auto extent = target.shape[window->start];
        // From the first element of a tile to the last of its last window.
        const auto further = [&](std::int64_t elements) { return (elements + width - 2) / length; };
        const auto full = extent / length, left = extent % length;
        if (further(length) > most_further)
          refuse(
              span,
              fmt::format("windows of {} reach into more than {} tiles of {}", width, most_further, length),
              "give it longer tiles");
        const bool rows = d + 2 == index.size() || index.size() == 1;
        const bool same = rows ? window->start + 2 == rank || rank == 1
                               : d + 1 == index.size() && rank > 1 && window->start + 1 == rank;
        if (!same || length == 1 || variables.tile[window->place] < width)
          refuse(span, "its windows are not along the rows and columns of tiles, with weights in one tile");
        std::vector<TileTerm> cut;
        for (auto& part : parts) {
          const auto at = poly::variable(part.tiles.dimensions(), window->start);
          const auto end = poly::constant(part.tiles.dimensions(), full);
          const auto add = [&](const poly::Constraint& where, std::int64_t count) {
            auto some = part;
            some.tiles = part.tiles.intersect(where).coalesce();
            if (some.tiles.is_empty()) return;
            (rows ? some.factors[f].further_rows : some.factors[f].further_columns) = count;
            cut.push_back(std::move(some));
          };
          if (left == 0 || further(left) == further(length)) {
            (rows ? part.factors[f].further_rows : part.factors[f].further_columns) = further(length);
            cut.push_back(std::move(part));
          } else {
            add({end - at - poly::constant(part.tiles.dimensions(), 1), false}, further(length));
            add({end - at, true}, further(left));
          }
        }
        parts = std::move(cut);
      }
    }
    std::ranges::move(parts, std::back_inserter(cell.pieces.back().terms));
  }

  /// Windows along an axis whose tiles are single elements: so are those of the places inside.
  static bool in_single_steps(const WindowForm& window, const std::vector<std::int64_t>& tiles) {
    return tiles[window.start] == 1 && tiles[window.place] == 1;
  }

  [[nodiscard]] TileFactor tile_factor(const Factor& factor, std::size_t rank, std::size_t sums,
                                       const std::vector<std::int64_t>& tiles) const {
    const auto variables = 2 + sums, axes = factor.index.size();
    TileFactor result{
        factor.tensor,   {}, poly::constant(variables, 0), poly::constant(variables, 0), factor.inverse,
        factor.conjugate};
    for (std::size_t d = 0; d < axes; ++d) {
      const auto v = plain_variable(factor.index[d]);
      auto window = window_form(factor.index[d], rank);
      if (window && in_single_steps(*window, tiles)) window.reset();
      result.tile.push_back(factor.index[d]);  // of plain variables also that of their tiles
      if (window) result.tile.back().coefficients[window->place] = 0;
      if (!v && !window) continue;
      const auto place = window      ? axis_form(window->start, rank, variables) +
                                           poly::variable(variables, 2 + window->place - rank)
                         : *v < rank ? axis_form(*v, rank, variables)
                                     : poly::variable(variables, 2 + *v - rank);
      if (d + 2 == axes || axes == 1)
        result.row = place;
      else if (d + 1 == axes)
        result.column = place;
    }
    return result;
  }

  const System& system_;
  const NormalForm& form_;
  const Tiling& tiling_;
  const poly::Context& context_;
  std::vector<Cell> cells_;
  std::size_t classes_ = 0;
};

}  // namespace

bool has_own(const Cell& cell) {
  return std::ranges::any_of(cell.pieces, [](const TilePiece& piece) {
    return std::ranges::any_of(piece.terms, [](const TileTerm& term) {
      return std::ranges::any_of(term.factors, [](const TileFactor& factor) { return factor.own; });
    });
  });
}

std::vector<Cell> cut(const System& system, const NormalForm& form, const Tiling& tiling,
                      const poly::Context& context) {
  return Cutter(system, form, tiling, context).run();
}

}  // namespace cyclotron::blocking
