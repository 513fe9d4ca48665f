// SPDX-License-Identifier: Apache-2.0
#include <rotary/fope.hpp>

#include <algorithm>
#include <new>
#include <numbers>

#include "angles/row_source.hpp"
#include "base/checked.hpp"
#include "base/message.hpp"

namespace rotary {
namespace {

using impl::invalid;

Status check_matrices(const FopeCoefficients& c, std::int64_t kept) {
  if (c.heads < 1) return invalid("fope: heads ", c.heads, ": must be at least 1");
  const auto numbers = impl::checked_mul(c.heads, kept * kept);
  for (const auto& [name, given] : {std::pair{"cos", c.cos}, std::pair{"sin", c.sin}}) {
    if (!numbers || given.size() != static_cast<std::size_t>(*numbers)) {
      return invalid("fope: ", name, " has ", given.size(), " coefficients, expected heads ", c.heads, " * ",
                     kept, " * ", kept);
    }
  }
  return {};
}

/// to[d] = the sum over D of from[D] matrix[D][d].
void mix(const double* from, const float* matrix, std::size_t kept, float* to) {
  for (std::size_t d = 0; d < kept; ++d) {
    double sum = 0;
    for (std::size_t k = 0; k < kept; ++k) sum += from[k] * static_cast<double>(matrix[k * kept + d]);
    to[d] = static_cast<float>(sum);
  }
}

}  // namespace

Result<Spectrum> fope_spectrum(const SpectrumOptions& options, std::int64_t max_position_embeddings,
                               std::optional<std::int64_t> num_inv_freq) {
  auto all = Spectrum::make(options);
  if (!all) return all;
  if (max_position_embeddings < 1) {
    return invalid("fope: max_position_embeddings ", max_position_embeddings, ": must be at least 1 token");
  }
  if (num_inv_freq && (*num_inv_freq < 1 || *num_inv_freq > all->pairs())) {
    return invalid("fope: num_inv_freq ", *num_inv_freq, ": must be from 1 to the number of pairs, ",
                   all->pairs());
  }
  const auto inv_freq = all->inv_freq();
  if (num_inv_freq) return Spectrum::from_inv_freq(inv_freq.first(static_cast<std::size_t>(*num_inv_freq)));
  std::vector<double> kept;
  const double slowest = 2 * std::numbers::pi / static_cast<double>(max_position_embeddings);
  std::copy_if(inv_freq.begin(), inv_freq.end(), std::back_inserter(kept),
               [&](double w) { return w > slowest; });
  if (kept.empty()) {
    return invalid("fope: no pair turns once within max_position_embeddings ", max_position_embeddings);
  }
  return Spectrum::from_inv_freq(kept);
}

Result<std::vector<FopeTable>> fope_tables(const Spectrum& spectrum, const FopeCoefficients& coefficients,
                                           std::int64_t rows, std::int64_t pairs) {
  const std::int64_t kept = spectrum.pairs();
  if (spectrum.axes() != 1)
    return invalid("fope: the spectrum has ", spectrum.axes(), " axes, must have one");
  if (pairs < kept || pairs > Spectrum::max_rotary_dim / 2) {
    return invalid("fope: pairs ", pairs, ": must be from the kept ", kept, " to ",
                   Spectrum::max_rotary_dim / 2);
  }
  if (rows < 1) return invalid("fope: rows ", rows, ": must be at least 1");
  if (Status status = check_matrices(coefficients, kept); !status.ok()) return status;
  const auto size = impl::checked_mul(rows, pairs);
  const auto too_large = [&] {
    return impl::failure(StatusCode::unsupported, "fope: heads ", coefficients.heads, ", rows ", rows,
                         ", pairs ", pairs, ": more numbers than memory holds");
  };
  if (!size || static_cast<std::uint64_t>(*size) > std::vector<float>().max_size()) return too_large();
  const auto source = impl::make_exact_source(spectrum);
  const auto n = static_cast<std::size_t>(kept), width = static_cast<std::size_t>(pairs);
  std::vector<FopeTable> tables;
  try {
    for (std::int64_t h = 0; h < coefficients.heads; ++h) {
      const auto numbers = static_cast<std::size_t>(*size);
      tables.push_back({std::vector<float>(numbers, 1.0F), std::vector<float>(numbers, 0.0F), rows, pairs});
    }
    std::vector<double> row(2 * n);
    const Positions positions = Positions::range(0, rows);
    for (std::int64_t t = 0; t < rows; ++t) {
      source->fill(positions, 0, t, 1, row.data());
      for (std::size_t h = 0; h < tables.size(); ++h) {
        const std::size_t at = static_cast<std::size_t>(t) * width, matrix = h * n * n;
        mix(row.data(), coefficients.cos.data() + matrix, n, tables[h].cos.data() + at);
        mix(row.data() + n, coefficients.sin.data() + matrix, n, tables[h].sin.data() + at);
      }
    }
  } catch (const std::bad_alloc&) {
    return too_large();
  }
  return tables;
}

}  // namespace rotary
