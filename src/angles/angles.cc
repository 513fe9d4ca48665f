// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <new>
#include <rotary/angles.hpp>
#include <stdexcept>

#include "angles/row_source.hpp"
#include "base/checked.hpp"
#include "base/names.hpp"

namespace rotary {
namespace {

constexpr std::string_view policy_names[] = {"exact", "fp32", "ggml", "table"};

Status check_index(std::string_view what, std::int64_t index, std::int64_t count) {
  if (index >= 0 && index < count) return {};
  return impl::failure(StatusCode::out_of_range, what, " ", index, ": the angles have ", count);
}

Status check_span(std::string_view what, std::size_t size, std::int64_t pairs) {
  if (size == static_cast<std::size_t>(pairs)) return {};
  return impl::invalid(what, ": room for ", size, " numbers, expected ", pairs, ", one a pair");
}

template <class Real>
void split_row(const Real* row, std::span<Real> cos, std::span<Real> sin) noexcept {
  std::copy_n(row, cos.size(), cos.begin());
  std::copy_n(row + cos.size(), sin.size(), sin.begin());
}

}  // namespace

std::string_view name(AnglePolicy policy) noexcept { return impl::name_at(policy_names, policy); }

std::optional<AnglePolicy> angle_policy_from_name(std::string_view word) noexcept {
  return impl::find_name<AnglePolicy>(policy_names, word);
}

Angles::Angles(std::shared_ptr<const impl::AngleSource> source, Rows rows) noexcept
    : source_(std::move(source)), rows_(rows) {}

std::int64_t Angles::pairs() const noexcept { return source_->pairs(); }
AnglePolicy Angles::policy() const noexcept { return source_->policy(); }

Status Angles::refill(const Positions& positions) {
  if (Status status = source_->check(positions); !status.ok()) return status;
  const std::int64_t row = 2 * pairs();
  const auto rows = impl::checked_mul(positions.batch(), positions.tokens());
  const auto numbers = rows ? impl::checked_mul(*rows, row) : std::nullopt;
  const auto too_large = [&] {
    return impl::failure(StatusCode::unsupported, "angles of batch ", positions.batch(), ", tokens ",
                         positions.tokens(), ", pairs ", pairs(), ": more rows than memory holds");
  };
  const bool hold = rows_ == Rows::held;
  try {
    if (hold && (!numbers || static_cast<std::uint64_t>(*numbers) > held_.max_size())) return too_large();
    // It only grows: rows beyond these positions are left as they are.
    if (hold && held_.size() < static_cast<std::size_t>(*numbers)) {
      held_.resize(static_cast<std::size_t>(*numbers));
    }
    positions_ = positions;
  } catch (const std::bad_alloc&) {
    return too_large();
  }
  if (hold) {
    for (std::int64_t b = 0; b < batch(); ++b) {
      source_->fill(positions, b, 0, tokens(), held_.data() + b * tokens() * row);
    }
  }
  return {};
}

Status Angles::row(std::int64_t batch_row, std::int64_t token, std::span<float> cos,
                   std::span<float> sin) const {
  if (Status status = check_row(batch_row, token, cos.size(), sin.size()); !status.ok()) return status;
  if (rows_ == Rows::held) {
    split_row(held_.data() + (batch_row * tokens() + token) * 2 * pairs(), cos, sin);
    return {};
  }
  std::vector<float> made(cos.size() + sin.size());
  source_->fill(positions_, batch_row, token, 1, made.data());
  split_row(made.data(), cos, sin);
  return {};
}

Status Angles::row(std::int64_t batch_row, std::int64_t token, std::span<double> cos,
                   std::span<double> sin) const {
  if (Status status = check_row(batch_row, token, cos.size(), sin.size()); !status.ok()) return status;
  std::vector<double> made(cos.size() + sin.size());
  source_->fill(positions_, batch_row, token, 1, made.data());
  split_row(made.data(), cos, sin);
  return {};
}

Status Angles::check_row(std::int64_t batch_row, std::int64_t token, std::size_t cos, std::size_t sin) const {
  if (Status status = check_index("batch row", batch_row, batch()); !status.ok()) return status;
  if (Status status = check_index("token", token, tokens()); !status.ok()) return status;
  if (Status status = check_span("cos", cos, pairs()); !status.ok()) return status;
  return check_span("sin", sin, pairs());
}

namespace impl {
namespace {

/// Radians a step that no position in 64 bits makes infinite in fp32.
constexpr float fastest = 1e19F;

Status check_product(AnglePolicy policy, const Spectrum& spectrum) {
  const auto list = spectrum.inv_freq_fp32();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (std::fabs(list[i]) <= fastest) continue;
    return invalid("policy ", name(policy), ": inv_freq of pair ", i, ": ", list[i], ": must be at most ",
                   fastest, " radians a position, or position * inv_freq leaves fp32; policy exact takes it");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const AngleSource>> make_angle_source(AnglePolicy policy, const Spectrum& spectrum) {
  if (policy == AnglePolicy::fp32 || policy == AnglePolicy::ggml) {
    if (Status status = check_product(policy, spectrum); !status.ok()) return status;
  }
  switch (policy) {
    case AnglePolicy::exact:
      return make_exact_source(spectrum);
    case AnglePolicy::fp32:
      return make_fp32_source(spectrum);
    case AnglePolicy::ggml:
      return make_ggml_source(spectrum);
    case AnglePolicy::table:
      break;
  }
  return invalid("policy table: needs cos and sin of the caller's own, see Rope::from_table");
}

}  // namespace impl
}  // namespace rotary
