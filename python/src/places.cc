// SPDX-License-Identifier: Apache-2.0
// Where tokens stand in images, video, shards of a sequence and chunks: what makes a Positions of others.
#include "places.hpp"

#include "positions.hpp"

namespace rotary::python {
namespace {

nb::list ranges_of(const std::vector<TokenSegment>& segments) {
  const nb::handle range(reinterpret_cast<PyObject*>(&PyRange_Type));
  nb::list out;
  for (const TokenSegment& s : segments) out.append(range(s.first, s.first + s.count * s.step, s.step));
  return out;
}

std::vector<TokenSegment> segments_of(const std::vector<nb::object>& ranges) {
  std::vector<TokenSegment> out;
  for (const auto& each : ranges) {
    if (!PyRange_Check(each.ptr())) raise_type("segments: " + kind_of(each) + ", expected ranges of tokens");
    out.push_back({nb::cast<std::int64_t>(each.attr("start")), nb::cast<std::int64_t>(each.attr("__len__")()),
                   nb::cast<std::int64_t>(each.attr("step"))});
  }
  return out;
}

std::vector<Positions> several(const std::vector<nb::object>& given) {
  std::vector<Positions> out;
  for (const auto& one : given) out.push_back(to_positions(one, 1, 1));
  return out;
}

nb::list shards(const std::string& sharding, nb::handle tokens, std::int64_t rank, std::int64_t ranks) {
  const Sharding how = word("sharding", sharding, &sharding_from_name, "contiguous, zigzag or striped");
  if (PyLong_Check(tokens.ptr()))
    return ranges_of(take(shard(how, nb::cast<std::int64_t>(tokens), rank, ranks)));
  const auto borders = whole_numbers(tokens, "cu_seqlens");
  return ranges_of(take(shard(how, std::span<const std::int64_t>(borders), rank, ranks)));
}

TextAfterVision after_of(const std::string& text) {
  if (text == "largest") return TextAfterVision::largest;
  if (text == "extent") return TextAfterVision::extent;
  raise_value("after \"" + text + "\": expected largest or extent");
}

void bind_images(nb::module_& m) {
  nb::class_<VisionGrid>(m, "VisionGrid",
                         "An image, a video or a frame of one, in tokens of the language model.")
      .def(
          "__init__",
          [](VisionGrid* self, std::int64_t height, std::int64_t width, std::int64_t time, double time_step) {
            new (self) VisionGrid{time, height, width, time_step};
          },
          "height"_a, "width"_a, "time"_a = 1, "time_step"_a = 1.0,
          "time_step: positions from one time to the next; times are cut to whole positions.")
      .def_static(
          "of_patches",
          [](const std::array<std::int64_t, 3>& patches, std::int64_t spatial_merge,
             std::int64_t temporal_merge) {
            return take(VisionGrid::of_patches(patches, spatial_merge, temporal_merge));
          },
          "patches"_a, "spatial_merge"_a, "temporal_merge"_a = 1,
          nb::sig("def of_patches(patches: collections.abc.Sequence[int], spatial_merge: int, "
                  "temporal_merge: int = "
                  "1) -> VisionGrid"),
          "From patches (t, h, w), as processors count them, which the model merges. ValueError: no "
          "multiple.")
      .def_ro("time", &VisionGrid::time)
      .def_ro("height", &VisionGrid::height)
      .def_ro("width", &VisionGrid::width)
      .def_rw("time_step", &VisionGrid::time_step)
      .def("frames", &VisionGrid::frames,
           "One grid a frame, for models that tell the time of each frame in words.")
      .def(
          "__eq__",
          [](const VisionGrid& a, nb::handle b) {
            return nb::isinstance<VisionGrid>(b) && a == nb::cast<const VisionGrid&>(b);
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const VisionGrid& g) {
        return "VisionGrid(height=" + std::to_string(g.height) + ", width=" + std::to_string(g.width) +
               ", time=" + std::to_string(g.time) + ")";
      });
  nb::class_<MultimodalSequence>(
      m, "MultimodalSequence",
      "Text with images and video on the axes (time, height, width), as models of the Qwen2-VL kind place "
      "it: text\n"
      "counts on all axes alike, an image is a grid that begins where the text has got to, and the text goes "
      "on\n"
      "behind it.\n\n"
      "    prompt = rotary.MultimodalSequence().text(3).vision(rotary.VisionGrid(2, 4)).text(2)\n"
      "    rope.angles(prompt.positions())    # prefill\n"
      "    rope.angles(prompt.decode())       # the next token")
      .def(
          "__init__",
          [](MultimodalSequence* self, const std::string& after) {
            new (self) MultimodalSequence(after_of(after));
          },
          "after"_a = "largest",
          "after: where text goes on behind a grid at p: largest (one behind its largest position) or extent "
          "(p +\n"
          "max(height, width), Transformers 5).")
      .def(
          "text",
          [](MultimodalSequence& s, std::int64_t tokens) -> MultimodalSequence& { return s.text(tokens); },
          "tokens"_a, nb::rv_policy::reference, "What follows: so many tokens of text.")
      .def(
          "vision",
          [](MultimodalSequence& s, const VisionGrid& grid) -> MultimodalSequence& { return s.vision(grid); },
          "grid"_a, nb::rv_policy::reference, "What follows: an image or a video.")
      .def_static(
          "from_token_types",
          [](nb::handle types, const std::vector<VisionGrid>& images, const std::vector<VisionGrid>& videos,
             const std::string& after) {
            const auto wide = whole_numbers(types, "types");
            std::vector<std::int32_t> narrow;
            for (const std::int64_t type : wide)
              narrow.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(type, -1, 127)));
            return take(MultimodalSequence::from_token_types(narrow, images, videos, after_of(after)));
          },
          "types"_a, "images"_a = std::vector<VisionGrid>(), "videos"_a = std::vector<VisionGrid>(),
          "after"_a = "largest",
          nb::sig(
              "def from_token_types(types: collections.abc.Sequence[int] | typing.Any, images: "
              "collections.abc.Sequence[VisionGrid] = (), videos: collections.abc.Sequence[VisionGrid] = (), "
              "after: str = 'largest') -> MultimodalSequence"),
          "One sequence as a processor describes it: of each token 0 (text), 1 (image) or 2 (video), and the "
          "grids\n"
          "in their order. ValueError: a run of tokens that its grids do not fill.")
      .def(
          "positions", [](const MultimodalSequence& s) { return take(s.positions()); },
          "[3, 1, tokens]. ValueError: the first of the parts that failed.")
      .def(
          "decode", [](const MultimodalSequence& s, std::int64_t tokens) { return take(s.decode(tokens)); },
          "tokens"_a = 1, "The next tokens, one behind the largest position so far, equal on all axes.")
      .def_prop_ro("tokens", &MultimodalSequence::tokens)
      .def_prop_ro("rope_delta", &MultimodalSequence::rope_delta,
                   "What Transformers adds to the number of a token behind the prompt.");
}

}  // namespace

void bind_more_positions(nb::class_<Positions>& positions) {
  const auto coordinates = [&](const char* name, auto make, const char* doc) {
    positions.def_static(
        name, [make](std::int64_t cells) { return take(make(cells)); }, "cells"_a, doc);
  };
  coordinates("centred_cells", &centred_cells,
              "-(n - n // 2) ... n // 2 - 1: Qwen-Image's rows and columns.");
  coordinates("patch_centres", &patch_centres,
              "(2 i + 1) / n - 1: the middles of n cells that fill [-1, 1] (DINOv3).");
  positions
      .def_static(
          "evenly_between",
          [](double first, double last, std::int64_t cells) {
            return take(evenly_between(first, last, cells));
          },
          "first"_a, "last"_a, "cells"_a, "first + i (last - first) / cells: CogVideoX's grids.")
      .def_static(
          "whole_steps", [](double step, std::int64_t cells) { return take(whole_steps(step, cells)); },
          "step"_a, "cells"_a, "i * step, cut to the whole number: Qwen2.5-VL's seconds a frame.")
      .def_static(
          "grid",
          [](const std::vector<nb::object>& coordinates) {
            return take(Positions::grid(several(coordinates)));
          },
          "coordinates"_a,
          nb::sig("def grid(coordinates: collections.abc.Sequence[PositionsLike]) -> Positions"),
          "Every cell of a grid, row-major, one axis each of the coordinates: ranges, arrays, Positions of "
          "one row.")
      .def_static(
          "concatenate",
          [](const std::vector<nb::object>& parts) { return take(Positions::concatenate(several(parts))); },
          "parts"_a, nb::sig("def concatenate(parts: collections.abc.Sequence[PositionsLike]) -> Positions"),
          "The tokens of each part behind those of the one before.")
      .def_static(
          "rows", [](const std::vector<nb::object>& each) { return take(Positions::rows(several(each))); },
          "each"_a, nb::sig("def rows(each: collections.abc.Sequence[PositionsLike]) -> Positions"),
          "The rows of each behind those of the one before; the same axes and tokens.")
      .def_static(
          "left_padded",
          [](nb::handle pads, std::int64_t tokens) {
            return take(Positions::left_padded(whole_numbers(pads, "pads_of_row"), tokens));
          },
          "pads_of_row"_a, "tokens"_a,
          nb::sig("def left_padded(pads_of_row: collections.abc.Sequence[int] | typing.Any, tokens: int) -> "
                  "Positions"),
          "Prompts that end together: row b has pads_of_row[b] pads at position 0, then 0, 1, ...")
      .def(
          "padded",
          [](const Positions& p, std::int64_t left, std::int64_t right, std::int64_t pad) {
            return take(p.padded(left, right, pad));
          },
          "left"_a, "right"_a = 0, "pad"_a = 0, "More tokens at both ends of every row, at position `pad`.")
      .def(
          "take",
          [](const Positions& p, const std::vector<nb::object>& ranges) {
            return take(p.take(segments_of(ranges)));
          },
          "segments"_a, nb::sig("def take(self, segments: Segments) -> Positions"),
          "The tokens of the ranges, one range behind the other: what shard() and block_order() give.")
      .def(
          "select_axes",
          [](const Positions& p, const std::vector<std::int64_t>& axes) { return take(p.select_axes(axes)); },
          "axes"_a, nb::sig("def select_axes(self, axes: collections.abc.Sequence[int]) -> Positions"),
          "Axis a is axis axes[a] of this table; [0, 0, 0] gives text its three axes.")
      .def(
          "shifted",
          [](const Positions& p, nb::handle by) {
            if (PyLong_Check(by.ptr())) return take(p.shifted(nb::cast<std::int64_t>(by)));
            return take(p.shifted(std::span<const std::int64_t>(whole_numbers(by, "by"))));
          },
          "by"_a, nb::sig("def shifted(self, by: int | collections.abc.Sequence[int]) -> Positions"),
          "Every position plus `by`, or plus by[a] on axis a.");
}

void bind_places(nb::module_& m) {
  bind_images(m);
  m.def("shard", &shards, "sharding"_a, "tokens"_a, "rank"_a, "ranks"_a,
        nb::sig("def shard(sharding: str, tokens: int | collections.abc.Sequence[int] | typing.Any, rank: "
                "int, ranks: "
                "int) -> list[range]"),
        "The tokens that a rank of a context-parallel group holds: contiguous, zigzag or striped. tokens: "
        "how many,\n"
        "or the cu_seqlens of packed documents, each cut by itself. For Positions.take, and to cut q, k and "
        "v.");
  m.def(
      "block_order",
      [](std::int64_t frames, std::int64_t height, std::int64_t width, std::int64_t block) {
        return ranges_of(take(block_order(frames, height, width, block)));
      },
      "frames"_a, "height"_a, "width"_a, "block"_a,
      nb::sig("def block_order(frames: int, height: int, width: int, block: int) -> list[range]"),
      "The order in which towers of the Qwen2-VL kind hold the patches of a row-major grid, for "
      "Positions.take.");
  m.def(
      "dual_chunk",
      [](nb::handle positions, std::int64_t chunk_size, std::int64_t local_size) {
        DualChunk d = take(dual_chunk(to_positions(positions, 1, 1), chunk_size, local_size));
        return plain_data("DualChunk")(std::move(d.keys), std::move(d.successor), std::move(d.inter),
                                       std::move(d.successor_critical), std::move(d.inter_critical));
      },
      "positions"_a, "chunk_size"_a, "local_size"_a,
      nb::sig("def dual_chunk(positions: PositionsLike, chunk_size: int, local_size: int) -> DualChunk"),
      "The five tables of dual chunk attention (Qwen2.5-1M), each of the shape of `positions`.");
  m.def(
      "axis_map",
      [](const std::string& order, const std::vector<std::int64_t>& sections) {
        const auto map = take(axis_map(axis_order_of(order), sections));
        const std::int64_t shape[] = {static_cast<std::int64_t>(map.size())};
        return numpy_copy<std::uint8_t>(map, shape, "uint8");
      },
      "order"_a, "sections"_a,
      nb::sig("def axis_map(order: str, sections: collections.abc.Sequence[int]) -> "
              "numpy.typing.NDArray[numpy.uint8]"),
      "The axis of each pair, of sections (pairs an axis) in an order: contiguous, interleaved, imrope, "
      "round_robin,\n"
      "spread, space_then_time.");
  m.def(
      "length_for",
      [](const std::string& rule, nb::handle tokens_of_row, std::int64_t row, std::int64_t maximum) {
        const LengthRule by =
            word("rule", rule, &length_rule_from_name, "by_sequence, by_batch or by_maximum");
        if (row < 0) raise_value("row " + std::to_string(row) + ": must not be negative");
        return take(length_for(by, whole_numbers(tokens_of_row, "tokens_of_row"),
                               static_cast<std::size_t>(row), maximum));
      },
      "rule"_a, "tokens_of_row"_a, "row"_a, "maximum"_a,
      nb::sig("def length_for(rule: str, tokens_of_row: collections.abc.Sequence[int] | typing.Any, row: "
              "int, maximum: "
              "int) -> int"),
      "The length= of a rope whose frequencies depend on it, for one row of a batch: by_sequence, by_batch\n"
      "(Transformers) or by_maximum (vLLM, llama.cpp).");
}

}  // namespace rotary::python
