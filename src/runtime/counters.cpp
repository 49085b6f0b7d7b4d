#include <cyclotron/runtime/counters.hpp>

#include <algorithm>

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime {
namespace {

[[noreturn]] void counts_too_high() {
  throw ExecutionError({.code = "CYC708",
                        .span = {},
                        .message = "what a PE did is more than 2^63 of a kind, and counts have 63 bits",
                        .notes = {},
                        .help = "run fewer steps"});
}

/// The sum over each PE's work of what `get` finds.
template <class Get>
std::vector<std::int64_t> sums(const Counters& counters, Get get) {
  std::vector<std::int64_t> result(counters.group_of.size(), 0);
  std::vector<std::vector<std::int64_t>> found;  // by group: once, then what was repeated
  for (const auto& group : counters.groups) {
    auto& amounts = found.emplace_back();
    amounts.push_back(get(group.once));
    for (const Work& work : group.repeated) amounts.push_back(get(work));
  }
  const std::int64_t* times = counters.times.data();
  for (std::size_t pe = 0; pe < result.size(); ++pe) {
    if (counters.group_of[pe] == Counters::none) continue;
    const auto& amounts = found[counters.group_of[pe]];
    result[pe] = amounts[0];
    for (std::size_t n = 1; n < amounts.size(); ++n, ++times) {
      std::int64_t product = 0;
      if (__builtin_mul_overflow(amounts[n], *times, &product) ||
          __builtin_add_overflow(result[pe], product, &result[pe]))
        counts_too_high();
    }
  }
  return result;
}

std::int64_t words(const Work& work, std::uint32_t channel, std::int64_t Work::Traffic::* member) {
  const auto found = std::find_if(work.traffic.begin(), work.traffic.end(),
                                  [&](const auto& traffic) { return traffic.channel == channel; });
  return found == work.traffic.end() ? 0 : (*found).*member;
}

}  // namespace

Work::Traffic& Work::on(std::uint32_t channel) {
  const auto found = std::find_if(traffic.begin(), traffic.end(),
                                  [&](const Traffic& known) { return known.channel == channel; });
  return found != traffic.end() ? *found : traffic.emplace_back(Traffic{.channel = channel});
}

std::string_view Amount::by_name() const {
  if (by < operators::operator_count) return operators::info(static_cast<operators::Op>(by)).name;
  return instruction_names.at(by - operators::operator_count);
}

std::int64_t& Work::of(const Amount& amount) {
  const auto found = std::ranges::find(amounts, amount, &std::pair<Amount, std::int64_t>::first);
  return found != amounts.end() ? found->second : amounts.emplace_back(amount, 0).second;
}

std::vector<std::int64_t> Counters::of(const Amount& amount) const {
  return sums(*this, [&](const Work& work) {
    const auto found = std::ranges::find(work.amounts, amount, &std::pair<Amount, std::int64_t>::first);
    return found == work.amounts.end() ? std::int64_t{0} : found->second;
  });
}

std::vector<Amount> Counters::amounts() const {
  Work all;
  for (const auto& group : groups) {
    for (const auto& one : group.once.amounts) all.of(one.first) += 1;
    for (const Work& work : group.repeated) {
      for (const auto& one : work.amounts) all.of(one.first) += 1;
    }
  }
  std::vector<Amount> result;
  for (const auto& one : all.amounts) result.push_back(one.first);
  return result;
}

std::vector<std::int64_t> Counters::instructions(InstructionKind kind) const {
  return sums(*this, [&](const Work& work) { return work.count(kind); });
}

std::vector<std::int64_t> Counters::total(std::int64_t Work::* member) const {
  return sums(*this, [&](const Work& work) { return work.*member; });
}

std::vector<std::int64_t> Counters::words_sent(std::uint32_t channel) const {
  return sums(*this, [&](const Work& work) { return words(work, channel, &Work::Traffic::sent); });
}

std::vector<std::int64_t> Counters::words_received(std::uint32_t channel) const {
  return sums(*this, [&](const Work& work) { return words(work, channel, &Work::Traffic::received); });
}

}  // namespace cyclotron::runtime
