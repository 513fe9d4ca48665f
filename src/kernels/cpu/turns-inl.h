// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// How a head turns by a row of a width that is known when compiling.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/rotate_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// How a row of n groups, and of a fraction of one where it is not 0, turns a head: in `passes` over the heads, each by a
/// Type that make() gives and that begins at offset(). A head has so many elements.
template <class Row, int n, int fraction>
struct Turns;
/// Of any number.
template <class R>
struct Turns<R, 0, 0> {
  using Row = R;
  using Type = typename Row::Any;
  static constexpr int passes = 1, elements = 0;
  static HWY_INLINE Type make(const Row& row, int /*pass*/) { return Type(row); }
  static HWY_INLINE std::int64_t offset(int /*pass*/) { return 0; }
};

#if !HWY_HAVE_SCALABLE
/// A row of n groups and a part of one, a half or a quarter.
template <class Row, int n, int fraction>
class HeldAndPart {
 public:
  static constexpr int pairs = n * Row::group_pairs + Row::group_pairs / fraction;

  HWY_INLINE explicit HeldAndPart(const Row& row)
      : groups_(row, 0, pairs), rest_(row, n * Row::group_pairs, pairs) {}
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    const std::int64_t offset = Row::offset_of(n * Row::group_pairs);
    groups_(in, out);
    rest_(in + offset, out + offset);
  }

 private:
  typename Row::template Held<n> groups_;
  typename Row::template HeldFraction<fraction> rest_;
};

/// What registers hold at once: all, or as many as divide it.
template <class R, int n>
struct Turns<R, n, 0> {
  using Row = R;
  static constexpr int held = [] {
    int most = n < Row::most_held ? n : Row::most_held;
    while (n % most != 0) --most;
    return most;
  }();
  using Type = typename Row::template Held<held>;
  static constexpr int passes = n / held, elements = 2 * n * Row::group_pairs;
  template <class From>
  static HWY_INLINE Type make(const From& row, int pass) {
    return Type(row, pass * held * Row::group_pairs, n * Row::group_pairs);
  }
  static HWY_INLINE std::int64_t offset(int pass) { return Row::offset_of(pass * held * Row::group_pairs); }
};
template <class Row, int n, int fraction>
struct TurnsPart {
  using Type = HeldAndPart<Row, n, fraction>;
};
template <int n>  // x and y together are whole groups
struct TurnsPart<HalvesRow<PackedBf16>, n, 2> {
  using Type = HalvesRow<PackedBf16>::HeldHead<2 * n + 1>;
};
template <class R, int n, int fraction>
struct Turns {
  using Row = R;
  using Type = typename TurnsPart<Row, n, fraction>::Type;
  static constexpr int passes = 1, elements = 2 * Type::pairs;
  static HWY_INLINE Type make(const Row& row, int /*pass*/) { return Type(row); }
  static HWY_INLINE std::int64_t offset(int /*pass*/) { return 0; }
};
#endif

/// Turns so many heads, and fetches those that lie so many elements ahead; 0: nothing.
template <int elements, class Turn, class Element>
HWY_INLINE void turn_each(const Turn& turn, const Element* in, Element* out, std::int64_t in_stride,
                          std::int64_t out_stride, std::int64_t heads, std::int64_t fetched,
                          std::int64_t pairs) {
  for (; heads > 0; --heads, in += in_stride, out += out_stride) {
    if (fetched != 0) fetch_head<elements>(in + fetched, pairs);
    turn(in, out);
  }
}

/// The heads of a token, each whole.
template <int elements, class Turn>
struct EachHead {
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out, std::int64_t in_stride, std::int64_t out_stride,
                             std::int64_t heads, std::int64_t fetched) const {
    turn_each<elements>(turn, in, out, in_stride, out_stride, heads, fetched, pairs);
  }
  const Turn& turn;
  std::int64_t pairs;
};

template <int elements, class Turn>
HWY_INLINE EachHead<elements, Turn> each_head(const Turn& turn, const RotateArgs& args) {
  return {turn, args.pairs};
}

/// Some heads in passes, then the next ones: parts of a row stay in registers over them. Beyond the caches the order of
/// addresses is worth more, and they turn one at a time.
template <class Turns>
struct InPasses {
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out, std::int64_t in_stride, std::int64_t out_stride,
                             std::int64_t heads, std::int64_t fetched) const {
    constexpr std::int64_t some = 4096 / (Turns::elements * static_cast<std::int64_t>(sizeof(Element)));
    const bool beyond_caches = args.bytes >= std::int64_t{1} << 24;
    if constexpr (Turns::Row::streams) {
      if (beyond_caches) {
        const auto stream = [this](const Element* from, Element* to)
                                HWY_ATTR { row.template stream<Turns::elements / 2>(from, to); };
        return turn_each<Turns::elements>(stream, in, out, in_stride, out_stride, heads, fetched, args.pairs);
      }
    }
    const std::int64_t most = beyond_caches ? 1 : std::max<std::int64_t>(some, 4);
    for (; heads > 0; heads -= most, in += most * in_stride, out += most * out_stride) {
      std::int64_t now = std::min(most, heads);
#if HWY_ARCH_X86
      asm("" : "+r"(now));  // any number: g++ would write out the loop over heads as often as it can run
#endif
      for (int pass = 0; pass < Turns::passes; ++pass) {
        const std::int64_t offset = Turns::offset(pass);
        turn_each<Turns::elements>(Turns::make(row, pass), in + offset, out + offset, in_stride, out_stride,
                                   now, pass == 0 ? fetched : 0, args.pairs);
      }
    }
  }
  const std::remove_reference_t<typename Turns::Row::Any>& row;
  const RotateArgs& args;
};

/// Calls use.template operator()<n, fraction>() for what a row fills (see Turns).
template <class Row, class Use>
HWY_INLINE void with_groups(std::int64_t pairs, const Use& use) {
#if !HWY_HAVE_SCALABLE
  // Heads of 64, 80, 96, 128, 192 and 256 lanes, in quarters of a group.
  constexpr std::int64_t group = Row::group_pairs;
  switch (4 * pairs % group == 0 ? 4 * pairs / group : 0) {
    case 4 * 1:
      return use.template operator()<1, 0>();
    case 4 * 2:
      return use.template operator()<2, 0>();
    case 4 * 3:
      return use.template operator()<3, 0>();
    case 4 * 4:
      return use.template operator()<4, 0>();
    case 4 * 5:
      return use.template operator()<5, 0>();
    case 4 * 6:
      return use.template operator()<6, 0>();
    case 4 * 8:
      return use.template operator()<8, 0>();
    case 4 * 12:
      return use.template operator()<12, 0>();
    case 4 * 16:
      return use.template operator()<16, 0>();
    case 4 * 1 + 1:
      if constexpr (Row::least_lanes * 4 <= hn::MaxLanes(typename Row::D())) {
        return use.template operator()<1, 4>();
      }
      break;
    case 4 * 1 + 2:
      if constexpr (Row::least_lanes * 2 <= hn::MaxLanes(typename Row::D())) {
        return use.template operator()<1, 2>();
      }
      break;
    case 4 * 2 + 2:
      if constexpr (Row::least_lanes * 2 <= hn::MaxLanes(typename Row::D())) {
        return use.template operator()<2, 2>();
      }
      break;
    default:
      break;
  }
#endif
  use.template operator()<0, 0>();
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
