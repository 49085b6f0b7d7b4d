#include "recorder.hpp"

#include <algorithm>

namespace cyclotron::runtime::simulator {

void Stream::add(std::int64_t time, bool waited) {
  if (size_ == 0) starts_waiting_ = waited;
  ++size_;
  if (!keeps_times_) return;
  if (pieces_.empty() || pieces_.back().period != 0)
    pieces_.push_back({.first = size_ - 1, .recorded = times_.size()});
  times_.push_back(time);
}

void Stream::repeat(std::int64_t period, std::int64_t times, std::int64_t later) {
  if (period == 0) return;
  if (keeps_times_) pieces_.push_back({.first = size_, .period = period, .later = later});
  size_ += period * times;
}

const Stream::Piece& Stream::piece_of(std::int64_t k) const {
  return *std::prev(std::ranges::upper_bound(pieces_, k, {}, &Piece::first));
}

std::int64_t Stream::end_of(const Piece& piece) const {
  return &piece == &pieces_.back() ? size_ : (&piece + 1)->first;
}

std::int64_t Stream::at(std::int64_t k) const {
  std::int64_t later = 0;
  for (;;) {
    const Piece& piece = piece_of(k);
    const std::int64_t offset = k - piece.first;
    if (piece.period == 0) return times_[piece.recorded + static_cast<std::size_t>(offset)] + later;
    later += (offset / piece.period + 1) * piece.later;
    k = piece.first - piece.period + offset % piece.period;
  }
}

std::optional<std::int64_t> Stream::shift_to(const Stream& other) const {
  if (size_ != other.size_) return std::nullopt;
  if (size_ == 0) return 0;
  const std::int64_t shift = other.at(0) - at(0);
  if (!recorded_as(other, shift) || !other.recorded_as(*this, -shift) || !repeats_as(other))
    return std::nullopt;
  return shift;
}

/// Tells whether the recorded times are so much later in the other stream.
bool Stream::recorded_as(const Stream& other, std::int64_t shift) const {
  return std::ranges::all_of(pieces_, [&](const Piece& piece) {
    if (piece.period != 0) return true;
    for (std::int64_t k = piece.first; k < end_of(piece); ++k) {
      if (other.at(k) != times_[piece.recorded + static_cast<std::size_t>(k - piece.first)] + shift)
        return false;
    }
    return true;
  });
}

/// Tells whether repetitions that meet have the same period.
bool Stream::repeats_as(const Stream& other) const {
  return std::ranges::all_of(pieces_, [&](const Piece& piece) {
    if (piece.period == 0) return true;
    for (std::int64_t k = piece.first; k < end_of(piece);) {
      const Piece& met = other.piece_of(k);
      if (met.period != 0 && (met.period != piece.period || met.later != piece.later)) return false;
      k = other.end_of(met);
    }
    return true;
  });
}

}  // namespace cyclotron::runtime::simulator
