// SPDX-License-Identifier: Apache-2.0
#include <rotary/rope.hpp>

#include "base/message.hpp"
#include "base/names.hpp"
#include "rotate/rope_state.hpp"

namespace rotary {
namespace {

constexpr std::string_view pairing_names[] = {"half_split", "interleaved", "interleaved_to_half"};
constexpr std::string_view direction_names[] = {"forward", "gradient", "inverse_gradient", "inverse"};

}  // namespace

std::string_view name(Pairing pairing) noexcept { return impl::name_at(pairing_names, pairing); }
std::optional<Pairing> pairing_from_name(std::string_view word) noexcept {
  return impl::find_name<Pairing>(pairing_names, word);
}
std::string_view name(Direction direction) noexcept { return impl::name_at(direction_names, direction); }
std::optional<Direction> direction_from_name(std::string_view word) noexcept {
  return impl::find_name<Direction>(direction_names, word);
}

Rope::Rope(std::shared_ptr<const impl::RopeState> state, Pairing pairing, Direction direction) noexcept
    : state_(std::move(state)), pairing_(pairing), direction_(direction) {}

Result<Rope> Rope::assemble(std::shared_ptr<const impl::AngleSource> source, const RopeOptions& options) {
  const std::int64_t rotary_dim = 2 * source->pairs();
  if (options.pairing > Pairing::interleaved_to_half || options.direction > Direction::inverse) {
    return impl::invalid("pairing ", name(options.pairing), ", direction ", name(options.direction),
                         ": must be those of the library");
  }
  if (options.rotary_offset < 0) {
    return impl::invalid("rotary_offset ", options.rotary_offset, ": must not be negative");
  }
  if (options.head_dim < 0) return impl::invalid("head_dim ", options.head_dim, ": must not be negative");
  const bool given = options.head_dim != 0;
  if (given && options.rotary_offset > options.head_dim - rotary_dim) {
    return impl::invalid("rotary_dim ", rotary_dim, " at rotary_offset ", options.rotary_offset,
                         ": must end within head_dim ", options.head_dim);
  }
  if (!given && options.rotary_offset > max_rotary_dim) {
    return impl::invalid("rotary_offset ", options.rotary_offset, ": head_dim must be given beyond ",
                         max_rotary_dim);
  }
  const std::int64_t head_dim = given ? options.head_dim : options.rotary_offset + rotary_dim;
  return Rope(std::make_shared<const impl::RopeState>(
                  impl::RopeState{std::move(source), head_dim, options.rotary_offset}),
              options.pairing, options.direction);
}

Result<Rope> Rope::make(const RopeOptions& options) {
  if (options.spectrum.pairs() == 0 && !options.spectrum.base()) {
    return impl::invalid("spectrum: none given; rotary_dim 0 of Spectrum::make is a rope that turns nothing");
  }
  auto source = impl::make_angle_source(options.policy, options.spectrum);
  if (source && options.xpos) source = impl::make_xpos_source(*source, *options.xpos);
  if (!source) return source.status();
  return assemble(*std::move(source), options);
}

Result<Rope> Rope::from_table(const AngleTable& table, const RopeOptions& options) {
  auto source = impl::make_table_source(table, options.pairing);
  if (!source) return source.status();
  return assemble(*std::move(source), options);
}

const Spectrum& Rope::spectrum() const noexcept { return state_->source->spectrum(); }
std::int64_t Rope::head_dim() const noexcept { return state_->head_dim; }
std::int64_t Rope::rotary_offset() const noexcept { return state_->rotary_offset; }
std::int64_t Rope::pairs() const noexcept { return state_->source->pairs(); }
AnglePolicy Rope::policy() const noexcept { return state_->source->policy(); }

std::optional<Xpos> Rope::xpos() const noexcept { return state_->source->xpos(); }

Rope Rope::turned(Direction by) const noexcept { return Rope(state_, pairing_, compose(direction_, by)); }

Result<Angles> Rope::angles(const Positions& positions, Rows rows) const {
  Angles angles(state_->source, rows);
  if (Status status = angles.refill(positions); !status.ok()) return status;
  return angles;
}

bool operator==(const Rope& a, const Rope& b) noexcept {
  return a.pairing_ == b.pairing_ && a.direction_ == b.direction_ &&
         (a.state_ == b.state_ ||
          (a.state_->head_dim == b.state_->head_dim && a.state_->rotary_offset == b.state_->rotary_offset &&
           a.state_->source->equals(*b.state_->source)));
}

}  // namespace rotary
