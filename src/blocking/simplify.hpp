// Normal forms of few tensors: what a loop nest stores on the way becomes the sums that it spells.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "normal_form.hpp"

namespace cyclotron::blocking {

/// Puts results where values are read that they are copies of, adds up the steps of accumulators (right-looking and
/// in-place texts become left-looking sums), replaces accumulators by what they are, and joins pieces and terms that
/// one form spells.
/// Ensures: every element that is left has the value that it had, up to rounding.
[[nodiscard]] NormalForm simplify(NormalForm form);

/// A step of an accumulator: the coordinate along which it goes on, from the element before (-1) or after (1).
struct Step {
  std::size_t coordinate = 0;
  std::int64_t offset = 0;
  bool operator==(const Step&) const = default;
};

/// The step that a term is of a tensor's elements, if it is one.
[[nodiscard]] std::optional<Step> step_of(const Term& term, TensorId tensor, std::size_t rank);

/// The coordinates of points in terms of these forms of them; those that the forms do not tell are fixed by the set.
[[nodiscard]] std::optional<std::vector<poly::Affine>> element_of_source(
    const poly::Set& points, const std::vector<poly::Affine>& index);

/// The forms of forms of `variables`.
[[nodiscard]] std::vector<poly::Affine> substituted(const std::vector<poly::Affine>& index,
                                                    const std::vector<poly::Affine>& forms,
                                                    std::size_t variables);

/// Puts forms in the place of a term's coordinates.
void substitute_in(Term& term, const std::vector<poly::Affine>& forms, std::size_t variables);

/// Tells whether of an array that is changed along a step one version of each element is read, but to change it.
[[nodiscard]] bool reads_one_version(const NormalForm& form, TensorId tensor, const Step& step);

/// Gives a local array that is changed along a step, and of which its own changes read one version of each element, a tensor for
/// these versions, as a result would be. Returns false where it is none.
bool keep_last_versions(NormalForm& form, TensorId tensor);

/// Has the last elements along an axis of a local array, which are read at that place alone, be an array of their own: the right
/// side beside a matrix. Returns false where there are none.
bool split_off_last(NormalForm& form);

/// Leaves out coordinates of local tensors that the others determine: of versions, of which those that are read are the last.
/// Returns false where there was none.
bool drop_coordinates(NormalForm& form);

/// Makes one tensor of local tensors that hold parts of one array of the text, in its subscripts: the diagonal of a factor and
/// what is below. Returns the new tensors.
std::vector<TensorId> join_parts(NormalForm& form);

/// Gives an array that is changed in place the elements that it keeps of another one, which the kernel reads there. Returns
/// false where there are none.
bool hold_unchanged(NormalForm& form, TensorId array);

/// Has a local tensor that is computed from itself hold quotients, as `U[i, k] / U[k, k]`, in the place of elements that are
/// read to be divided by the same divisor alone. Returns false where it has no such elements.
bool hold_quotients(NormalForm& form, TensorId tensor);

/// Joins the terms of a piece, and pieces of a tensor, that are one form on different points.
void join_pieces(NormalForm& form, TensorId tensor);

/// Tells whether both factors are the same element at all points: by its name, or as a copy of the other.
[[nodiscard]] bool same_element(const NormalForm& form, const poly::Set& points, const Factor& a,
                                const Factor& b);

}  // namespace cyclotron::blocking
