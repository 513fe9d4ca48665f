// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// How a head turns by a row of a width that is known when compiling.
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// How a row of n groups, and of a part of one where part is not 0, turns a head.
template <class Row, int n, int part>
struct Turns;
/// Of any number.
template <class Row>
struct Turns<Row, 0, 0> {
  using Type = const Row&;
};

#if !HWY_HAVE_SCALABLE
/// A row of n groups, more than registers hold: they take it from memory, some at a time.
template <class Row, int n>
class Parts {
 public:
  static constexpr int elements = 2 * n * Row::group_pairs;  // of a head

  HWY_INLINE explicit Parts(const Row& row) : row_(row) {}
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    constexpr int part = n % 4 == 0 && Row::most_held >= 4   ? 4
                         : n % 3 == 0 && Row::most_held >= 3 ? 3
                         : n % 2 == 0                        ? 2
                                                             : 1;
    for (int i = 0; i < n; i += part) {
      const std::int64_t pair = i * Row::group_pairs, offset = Row::offset_of(pair);
      typename Row::template Held<part>(row_, pair, n * Row::group_pairs)(in + offset, out + offset);
    }
  }

 private:
  const Row& row_;
};

/// A row of n groups and a part of one, a half or a quarter.
template <class Row, int n, int part>
class HeldAndPart {
 public:
  static constexpr int elements = 2 * (n * Row::group_pairs + Row::group_pairs / part);  // of a head

  HWY_INLINE explicit HeldAndPart(const Row& row)
      : groups_(row, 0, elements / 2), rest_(row, n * Row::group_pairs, elements / 2) {}
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    const std::int64_t offset = Row::offset_of(n * Row::group_pairs);
    groups_(in, out);
    rest_(in + offset, out + offset);
  }

 private:
  using Rest = hn::CappedTag<typename Row::Number, hn::MaxLanes(typename Row::D()) / part>;
  typename Row::template Held<n> groups_;
  typename Row::template Held<1, Rest> rest_;
};

template <class Row, int n>
struct Turns<Row, n, 0> {
  using Type = std::conditional_t<(n <= Row::most_held), typename Row::template Held<n>, Parts<Row, n>>;
};
template <class Row, int n, int part>
struct Turns {
  using Type = HeldAndPart<Row, n, part>;
};
#endif

/// Calls use.template operator()<n, part>() for what a row fills (see Turns).
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
