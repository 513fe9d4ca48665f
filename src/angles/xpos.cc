// SPDX-License-Identifier: Apache-2.0
// Rows of another source, each pair stretched by a power that grows with the position.
#include <algorithm>
#include <cmath>

#include "angles/angle_source.hpp"
#include "base/message.hpp"

namespace rotary::impl {
namespace {

/// A row and the squares that its inverse divides by stay normal in fp32 below this power of e.
constexpr double most_growth = 40;

class XposSource final : public AngleSource {
 public:
  XposSource(std::shared_ptr<const AngleSource> source, const Xpos& xpos)
      : AngleSource(source->policy(), source->spectrum()), source_(std::move(source)), xpos_(xpos) {
    const auto dim = static_cast<double>(2 * pairs());
    for (std::int64_t i = 0; i < pairs(); ++i) {
      const double z = (2 * static_cast<double>(i) + xpos.gamma * dim) / ((1 + xpos.gamma) * dim);
      log_.push_back(std::log(z));
      steepest_ = std::max(steepest_, std::fabs(log_.back()));
    }
  }

  Status check(const Positions& positions) const override {
    if (Status status = source_->check(positions); !status.ok()) return status;
    for (std::int64_t row = 0; row < positions.batch(); ++row) {
      for (std::int64_t token = 0; token < positions.tokens(); ++token) {
        const double position = to_double(positions.at(0, row, token));
        if (std::fabs(exponent(position)) * steepest_ <= most_growth) continue;
        return failure(StatusCode::out_of_range, "position ", position, " (row ", row, ", token ", token,
                       "): xPos of scale_base ", xpos_.scale_base, " stretches beyond fp32 further than ",
                       std::floor(most_growth / steepest_ * xpos_.scale_base), " from the centre ",
                       xpos_.centre);
      }
    }
    return {};
  }
  void fill(const Positions& positions, std::int64_t batch_row, std::int64_t token, std::int64_t count,
            float* rows) const noexcept override {
    fill_rows(positions, batch_row, token, count, rows);
  }
  void fill(const Positions& positions, std::int64_t batch_row, std::int64_t token, std::int64_t count,
            double* rows) const noexcept override {
    fill_rows(positions, batch_row, token, count, rows);
  }
  std::optional<Xpos> xpos() const noexcept override { return xpos_; }

 private:
  double exponent(double position) const noexcept {
    const double e = (position - xpos_.centre) / xpos_.scale_base;
    return xpos_.keys ? -e : e;
  }

  /// The product of the unrounded row, so that it is rounded once.
  template <class Real>
  void fill_rows(const Positions& positions, std::int64_t batch_row, std::int64_t token, std::int64_t count,
                 Real* rows) const noexcept {
    double row[Spectrum::max_rotary_dim];
    const auto n = static_cast<std::size_t>(pairs());
    for (std::int64_t t = 0; t < count; ++t, rows += 2 * n) {
      source_->fill(positions, batch_row, token + t, 1, row);
      const double e = exponent(to_double(positions.at(0, batch_row, token + t)));
      for (std::size_t i = 0; i < n; ++i) {
        const double stretch = std::exp(log_[i] * e);
        rows[i] = static_cast<Real>(row[i] * stretch);
        rows[n + i] = static_cast<Real>(row[n + i] * stretch);
      }
    }
  }

  std::shared_ptr<const AngleSource> source_;
  Xpos xpos_;
  std::vector<double> log_;  ///< ln z, one a pair
  double steepest_ = 0;
};

}  // namespace

Result<std::shared_ptr<const AngleSource>> make_xpos_source(std::shared_ptr<const AngleSource> source,
                                                            const Xpos& xpos) {
  for (const auto& [name, value] : {std::pair{"scale_base", xpos.scale_base}, {"gamma", xpos.gamma}}) {
    if (!std::isfinite(value) || value <= 0)
      return invalid("xpos: ", name, " ", value, ": must be positive and finite");
  }
  if (!std::isfinite(xpos.centre)) return invalid("xpos: centre ", xpos.centre, ": must be finite");
  if (source->spectrum().axes() != 1) {
    return invalid("xpos: the spectrum has ", source->spectrum().axes(), " axes, must have one");
  }
  return std::shared_ptr<const AngleSource>(std::make_shared<const XposSource>(std::move(source), xpos));
}

}  // namespace rotary::impl
