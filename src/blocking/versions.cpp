// Versions of local arrays that are changed in place, and of accumulators.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>

#include "simplify.hpp"

namespace cyclotron::blocking {

namespace {

/// The points with one coordinate behind the others.
poly::Set with_last(const poly::Set& points, std::size_t coordinate) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < points.dimensions(); ++d) {
    if (d != coordinate) order.push_back(d);
  }
  order.push_back(coordinate);
  return points.project(order);
}

/// A coordinate's values in terms of the others, where it has one at each.
std::optional<std::vector<poly::Map::Piece>> values_of(const poly::Set& points, std::size_t coordinate) {
  const auto map = poly::Map::from_pairs(with_last(points, coordinate), points.dimensions() - 1);
  return map.is_single_valued() ? map.pieces() : std::nullopt;
}

/// A piece without a coordinate, in parts where it has one value in terms of the others; none where it has several.
std::optional<std::vector<Piece>> without_coordinate(const Piece& piece, std::size_t coordinate) {
  const auto rank = piece.points.dimensions();
  const auto values = values_of(piece.points, coordinate);
  if (!values) return std::nullopt;
  std::vector<Piece> parts;
  for (const auto& value : *values) {
    auto part = piece;
    part.points = value.domain;
    part.names.erase(part.names.begin() + static_cast<std::ptrdiff_t>(coordinate));
    for (auto& term : part.terms) {
      const auto sums = term.sums.size();
      auto forms = identity_forms(rank - 1 + sums, rank - 1 + sums);
      forms.insert(forms.begin() + static_cast<std::ptrdiff_t>(coordinate),
                   insert_variables(value.forms.front(), rank - 1, sums));
      substitute_in(term, forms, rank - 1 + sums);
      term.points = term.points.intersect(insert_coordinates(value.domain, rank - 1, sums));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

/// The declaration without an axis.
void leave_out_axis(recurrence::Tensor& declared, std::size_t coordinate) {
  for (auto& form_held : declared.holds) {
    auto& factors = form_held.coefficients;
    if (coordinate >= factors.size()) continue;
    if (factors[coordinate] != 0) {
      declared.holds.clear();
      break;
    }
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(coordinate));
  }
  declared.shape.erase(declared.shape.begin() + static_cast<std::ptrdiff_t>(coordinate));
  declared.tile.erase(declared.tile.begin() + static_cast<std::ptrdiff_t>(coordinate));
}

/// Leaves out a coordinate of a local tensor that the others determine: one of versions, of which each element that is read
/// is the last.
bool drop_coordinate(NormalForm& form, TensorId tensor, std::size_t coordinate) {
  auto& pieces = form.pieces[tensor.index()];
  auto written = pieces.front().points;
  for (const auto& piece : pieces) written = written.unite(piece.points);
  if (!poly::Map::from_pairs(with_last(written, coordinate), written.dimensions() - 1).is_single_valued())
    return false;
  std::vector<Piece> result;
  for (const auto& piece : pieces) {
    auto parts = without_coordinate(piece, coordinate);
    if (!parts) return false;
    std::ranges::move(*parts, std::back_inserter(result));
  }
  pieces = std::move(result);
  each_factor(form, [&](TensorId, const Term&, Factor& factor) {
    if (factor.tensor == tensor)
      factor.index.erase(factor.index.begin() + static_cast<std::ptrdiff_t>(coordinate));
  });
  leave_out_axis(form.system.tensors[tensor.index()], coordinate);
  return true;
}

/// A tensor's elements as those of a part of an array: where they are, and the array's elements.
struct Part {
  TensorId tensor;
  std::vector<poly::Affine> place;
  poly::Set held;
};

/// The parts of arrays, by the name that they have in the text; none where elements of them are at no places of their own.
std::map<std::string, std::vector<Part>> parts_of_arrays(const NormalForm& form) {
  std::map<std::string, std::vector<Part>> arrays;
  std::set<std::string> overlapping;
  for (std::size_t t = 0; t < form.pieces.size(); ++t) {
    const auto& tensor = form.system.tensors[t];
    if (tensor.role != recurrence::Role::local || form.pieces[t].empty()) continue;
    auto written = form.pieces[t].front().points;
    for (const auto& piece : form.pieces[t]) written = written.unite(piece.points);
    const auto rank = written.dimensions();
    const bool told = std::ranges::all_of(
        tensor.holds, [rank](const recurrence::Affine& held) { return held.coefficients.size() <= rank; });
    const auto place = recurrence::to_poly(told ? tensor.holds : std::vector<recurrence::Affine>{}, rank);
    auto& parts = arrays[tensor.user_name()];
    const auto held = written.image(place);
    bool apart = !place.empty() && poly::Map::function(written, place).is_injective();
    for (std::size_t d = 0; apart && d < place.size(); ++d) apart = held.minimum(d).value_or(-1) >= 0;
    for (const auto& other : parts)
      apart = apart && other.place.size() == place.size() && other.held.intersect(held).is_empty();
    if (!apart) overlapping.insert(tensor.user_name());
    parts.push_back({TensorId(t), place, held});
  }
  for (const auto& name : overlapping) arrays.erase(name);
  return arrays;
}

/// The pieces of a part as those of the array; none where its places do not tell its elements.
std::optional<std::vector<Piece>> pieces_of_array(const NormalForm& form, const Part& part) {
  const auto rank = part.place.size();
  auto pieces = form.pieces[part.tensor.index()];
  for (auto& piece : pieces) {
    const auto back = element_of_source(piece.points, part.place);
    if (!back) return std::nullopt;
    std::vector<std::string> names;
    for (const auto& form_held : part.place) {
      const auto used = std::ranges::find_if(form_held.coefficients, [](auto factor) { return factor != 0; });
      const bool any = used != form_held.coefficients.end();
      names.push_back(any ? piece.names[static_cast<std::size_t>(used - form_held.coefficients.begin())]
                          : "");
    }
    piece.names = std::move(names);
    piece.points = piece.points.image(part.place);
    for (auto& term : piece.terms) {
      const auto sums = term.sums.size();
      std::vector<poly::Affine> forms;
      for (const auto& coordinate : *back) forms.push_back(insert_variables(coordinate, rank, sums));
      for (std::size_t s = 0; s < sums; ++s) forms.push_back(poly::variable(rank + sums, rank + s));
      substitute_in(term, forms, rank + sums);
      term.points = term.points.intersect(insert_coordinates(piece.points, rank, sums));
    }
  }
  return pieces;
}

}  // namespace

std::vector<TensorId> join_parts(NormalForm& form) {
  std::vector<TensorId> arrays;
  for (const auto& [name, parts] : parts_of_arrays(form)) {
    std::vector<Piece> pieces;
    auto array = form.system.at(parts.front().tensor);
    array.name = fmt::format("{}@{}", name, form.system.tensors.size());
    array.variable = name;
    array.shape.assign(parts.front().place.size(), 1);
    array.tile = array.shape;
    bool all = true;
    for (const auto& part : parts) {
      auto own = pieces_of_array(form, part);
      all = all && own.has_value();
      if (own) std::ranges::move(*own, std::back_inserter(pieces));
      for (std::size_t d = 0; d < array.shape.size(); ++d)
        array.shape[d] = std::max(array.shape[d], *part.held.maximum(d) + 1);
    }
    if (!all) continue;
    array.holds.clear();
    const TensorId id(form.system.tensors.size());
    arrays.push_back(id);
    form.system.tensors.push_back(std::move(array));
    form.pieces.push_back(std::move(pieces));
    for (const auto& part : parts) form.pieces[part.tensor.index()].clear();
    each_factor(form, [&](TensorId, const Term& term, Factor& factor) {
      for (const auto& part : parts) {
        if (factor.tensor != part.tensor) continue;
        factor.index = substituted(part.place, factor.index, term.points.dimensions());
        factor.tensor = id;
        return;
      }
    });
  }
  return arrays;
}

namespace {

/// The elements that are read of a tensor, but to change it along a step.
std::optional<poly::Set> read_versions(const NormalForm& form, TensorId tensor, const Step& step) {
  std::optional<poly::Set> read;
  const auto rank = rank_of(form.system, tensor);
  each_factor(form, [&](TensorId reader, const Term& term, const Factor& factor) {
    if (factor.tensor != tensor || (reader == tensor && step_of(term, tensor, rank) == step)) return;
    const auto elements = term.points.image(factor.index);
    read = read ? read->unite(elements).coalesce() : elements;
  });
  return read;
}

/// The step of an array that computes with other elements of itself, too.
std::optional<Step> step_beside_reads(const NormalForm& form, TensorId tensor) {
  const auto rank = rank_of(form.system, tensor);
  std::optional<Step> step;
  bool reads = false;
  for (const auto& piece : form.pieces[tensor.index()]) {
    for (const auto& term : piece.terms) {
      const auto own = step_of(term, tensor, rank);
      if (own && step && !(*step == *own)) return std::nullopt;
      if (own) step = own;
      // An element alone is the end of another accumulator that this one goes on from.
      reads =
          reads || (term.factors.size() > 1 && std::ranges::any_of(term.factors, [&](const Factor& factor) {
                      return factor.tensor == tensor;
                    }));
    }
  }
  return reads ? step : std::nullopt;
}

}  // namespace

bool reads_one_version(const NormalForm& form, TensorId tensor, const Step& step) {
  const auto read = read_versions(form, tensor, step);
  const auto others = rank_of(form.system, tensor) - 1;
  return !read || poly::Map::from_pairs(with_last(*read, step.coordinate), others).is_single_valued();
}

bool keep_last_versions(NormalForm& form, TensorId tensor) {
  auto& system = form.system;
  if (system.at(tensor).role != recurrence::Role::local || form.pieces[tensor.index()].empty()) return false;
  const auto step = step_beside_reads(form, tensor);
  if (!step) return false;
  const auto read = read_versions(form, tensor, *step);
  const auto values = read ? values_of(*read, step->coordinate) : std::nullopt;
  if (!values) return false;
  const auto rank = rank_of(system, tensor) - 1;
  const auto at = static_cast<std::ptrdiff_t>(step->coordinate);
  auto last = system.at(tensor);
  last.name = fmt::format("{}@{}", last.name, system.tensors.size());
  leave_out_axis(last, step->coordinate);
  const TensorId id(system.tensors.size());
  const auto& like = form.pieces[tensor.index()].front();
  auto names = like.names;
  names.erase(names.begin() + at);
  std::vector<Piece> pieces;
  for (const auto& value : *values) {
    Factor source{tensor, identity_forms(rank, rank)};
    source.index.insert(source.index.begin() + at, value.forms.front());
    pieces.push_back(
        {value.domain, {{1, {std::move(source)}, {}, value.domain}}, std::nullopt, like.span, names});
  }
  each_factor(form, [&](TensorId reader, const Term& term, Factor& factor) {
    if (factor.tensor != tensor || (reader == tensor && step_of(term, tensor, rank + 1) == step)) return;
    factor.tensor = id;
    factor.index.erase(factor.index.begin() + at);
  });
  system.tensors.push_back(std::move(last));
  form.pieces.push_back(std::move(pieces));
  return true;
}

namespace {

/// The last place along an axis of a tensor that some terms read there; none where others read it with more.
std::optional<std::int64_t> last_read_apart(const NormalForm& form, TensorId tensor, std::size_t axis) {
  std::optional<std::int64_t> last;
  for (const auto& piece : form.pieces[tensor.index()])
    last = std::max(last.value_or(0), piece.points.maximum(axis).value_or(0));
  bool apart = false, others = false;
  each_factor(form, [&](TensorId, const Term&, const Factor& factor) {
    if (factor.tensor != tensor) return;
    const bool there = poly::is_constant(factor.index[axis]) && factor.index[axis].constant == last;
    apart = apart || there;
    others = others || !there;
  });
  return apart && others ? last : std::nullopt;
}

/// Puts the elements at one place of an axis in a tensor without that axis.
void split_off(NormalForm& form, TensorId tensor, std::size_t axis, std::int64_t place) {
  const TensorId id(form.system.tensors.size());
  auto declared = form.system.at(tensor);
  declared.name = fmt::format("{}@{}", declared.name, id.index());
  declared.variable = fmt::format("{}_{}", declared.user_name(), place);
  std::erase_if(declared.holds, [axis](const recurrence::Affine& held) {
    return axis < held.coefficients.size() && held.coefficients[axis] != 0;
  });
  leave_out_axis(declared, axis);
  const auto parted = [&](const poly::Set& points, const poly::Affine& at) {
    const poly::Constraint here{at - poly::constant(points.dimensions(), place), true};
    const auto part = points.intersect(here);
    return std::pair(part, points.subtract(part).coalesce());
  };
  std::vector<Piece> pieces, rest;
  for (const auto& piece : form.pieces[tensor.index()]) {
    const auto rank = piece.points.dimensions();
    const auto [part, left] = parted(piece.points, poly::variable(rank, axis));
    for (const bool there : {true, false}) {
      auto some = piece;
      some.points = there ? part : left;
      if (some.points.is_empty()) continue;
      for (auto& term : some.terms)
        term.points = term.points.intersect(insert_coordinates(some.points, rank, term.sums.size()));
      if (there)
        std::ranges::move(without_coordinate(some, axis).value(), std::back_inserter(pieces));
      else
        rest.push_back(std::move(some));
    }
  }
  form.system.tensors.push_back(std::move(declared));
  form.pieces[tensor.index()] = std::move(rest);
  form.pieces.push_back(std::move(pieces));
  for (auto& all : form.pieces) {
    for (auto& piece : all) {
      for (std::size_t t = 0; t < piece.terms.size(); ++t) {
        for (std::size_t f = 0; f < piece.terms[t].factors.size(); ++f) {
          if (piece.terms[t].factors[f].tensor != tensor) continue;
          const auto [part, left] = parted(piece.terms[t].points, piece.terms[t].factors[f].index[axis]);
          if (part.is_empty()) continue;
          if (!left.is_empty()) {
            piece.terms.push_back(piece.terms[t]);
            piece.terms.back().points = left;
          }
          auto& factor = piece.terms[t].factors[f];
          piece.terms[t].points = part;
          factor.tensor = id;
          factor.index.erase(factor.index.begin() + static_cast<std::ptrdiff_t>(axis));
        }
      }
    }
  }
}

}  // namespace

bool split_off_last(NormalForm& form) {
  bool any = false;
  for (std::size_t t = 0; t < form.pieces.size(); ++t) {
    if (form.system.tensors[t].role != recurrence::Role::local || form.pieces[t].empty()) continue;
    for (auto d = form.system.tensors[t].shape.size(); d-- > 0;) {
      const auto place = last_read_apart(form, TensorId(t), d);
      if (!place) continue;
      split_off(form, TensorId(t), d, *place);
      any = true;
      break;
    }
  }
  return any;
}

bool drop_coordinates(NormalForm& form) {
  bool changed = false;
  for (std::size_t t = 0; t < form.pieces.size(); ++t) {
    if (form.system.tensors[t].role != recurrence::Role::local || form.pieces[t].empty()) continue;
    for (auto d = form.system.tensors[t].shape.size(); d-- > 0;)
      changed = drop_coordinate(form, TensorId(t), d) || changed;
  }
  return changed;
}

}  // namespace cyclotron::blocking
