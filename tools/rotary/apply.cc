// SPDX-License-Identifier: Apache-2.0
// rotary apply MODEL
#include <algorithm>
#include <iostream>
#include <memory>
#include <rotary/executors/thread_pool.hpp>
#include <rotary/kernels.hpp>
#include <rotary/rope.hpp>

#include "commands.hpp"
#include "model_argument.hpp"
#include "position_argument.hpp"
#include "render.hpp"
#include "tensor_file.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

struct Options {
  ModelArgument model;
  RopeChoice choice;
  PositionArgument positions;
  std::string in, out, layout, direction = "forward", kernel;
  std::vector<std::string> tensors;
  int threads = 1;
  bool json = false;
};

// One tensor on its way: its heads are rotated where `bytes`, an aligned copy, holds them.
struct Work {
  const formats::FileTensor* tensor;
  HeadsShape shape;
  std::vector<std::byte> bytes;
};

void check_kernel(const std::string& wanted) {
  if (wanted.empty()) return;
  std::vector<std::string> names;
  for (const auto& kernel : kernels()) {
    names.emplace_back(kernel.name);
    if (kernel.name == wanted && !kernel.accepted)
      throw Failure(Exit::unsupported, "--kernel " + wanted + ": " + kernel.reason);
  }
  if (std::find(names.begin(), names.end(), wanted) == names.end())
    throw Failure(Exit::usage, "--kernel " + wanted + ": this build has " + list(names));
}

std::vector<std::string> tensor_names(const Options& options, const TensorFile& input) {
  std::vector<std::string> names = options.tensors;
  if (names.empty()) {
    for (const char* name : {"q", "k"})
      if (input.find(name)) names.emplace_back(name);
    if (names.empty()) input.at("q");  // says what there is
    if (names.size() == 1) note(input.path() + ": only " + names.front() + " of q and k is there");
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      throw Failure(Exit::usage, "--tensors: " + names[i] + " is named twice");
  return names;
}

Layout layout_of(const Options& options, const TensorFile& input, const formats::FileTensor& tensor) {
  if (!options.layout.empty()) return layout_from_name(options.layout).value();
  if (const auto word = input.metadata("layout")) {
    const auto layout = layout_from_name(*word);
    if (!layout)
      throw Failure(Exit::input, input.path() + ": metadata \"layout\" is \"" + *word +
                                     "\", expected bthd, bhtd or thd; --layout overrides it");
    note(tensor.name + ": layout " + *word + ", as the file's metadata says");
    return *layout;
  }
  const Layout layout = tensor.shape.size() == 3 ? Layout::thd : Layout::bthd;
  note(tensor.name + ": layout " + std::string(name(layout)) + " assumed for " + shape_text(tensor.shape) +
       "; --layout says otherwise");
  return layout;
}

HeadsShape heads_of(Layout layout, const TensorFile& input, const formats::FileTensor& tensor) {
  const auto& s = tensor.shape;
  if (s.size() != (layout == Layout::thd ? 3U : 4U))
    throw Failure(Exit::input, input.path() + ": " + tensor.name + ": shape " + shape_text(s) + " is no " +
                                   std::string(name(layout)));
  switch (layout) {
    case Layout::bthd:
      return HeadsShape::contiguous(layout, tensor.dtype, s[0], s[1], s[2], s[3]);
    case Layout::bhtd:
      return HeadsShape::contiguous(layout, tensor.dtype, s[0], s[2], s[1], s[3]);
    case Layout::thd:
      break;
  }
  return HeadsShape::contiguous(layout, tensor.dtype, 1, s[0], s[1], s[2]);
}

void check_fit(const GivenPositions& given, const TensorFile& input, const Work& work) {
  const auto refuse = [&](std::int64_t have, std::int64_t want, const char* what) {
    throw Failure(given.blame, given.from + " has " + std::to_string(have) + " " + what + ", but tensor \"" +
                                   work.tensor->name + "\" of " + input.path() + " has " +
                                   std::to_string(want));
  };
  const Positions& positions = given.positions;
  if (positions.tokens() != work.shape.tokens) refuse(positions.tokens(), work.shape.tokens, "tokens");
  if (positions.batch() != 1 && positions.batch() != work.shape.batch)
    refuse(positions.batch(), work.shape.batch, "rows");
}

Rope turned(const Rope& rope, Direction direction) {
  return direction == Direction::inverse    ? rope.inverse()
         : direction == Direction::gradient ? rope.gradient()
                                            : rope;
}

// The library calls an operand q or k; here it has a name of its own.
void check_work(const Status& status, const TensorFile& input, const Work& work) {
  std::string message = status.message();
  if (message.starts_with("q: ")) message.erase(0, 3);
  check(Status(status.code(), message), Exit::input, input.path() + ": " + work.tensor->name + ": ");
}

std::string rotate(const Options& options, const TensorFile& input, const Rope& rope,
                   std::vector<Work>& works) {
  const GivenPositions given = options.positions.load(rope.spectrum().axes(), &input);
  for (const auto& work : works) check_fit(given, input, work);
  const Angles angles = take(rope.angles(given.positions), given.blame, given.from + ": ");
  ThreadPool executor(options.threads);
  std::string kernel;
  for (auto& work : works) {
    auto plan = rope.plan(work.shape, {.kernel = options.kernel, .executor = &executor});
    check_work(plan.status(), input, work);
    work.bytes.assign(work.tensor->bytes.begin(), work.tensor->bytes.end());
    check_work(plan->run(angles, Heads{work.bytes.data(), work.shape}), input, work);
    kernel = plan->kernel();
  }
  return kernel;
}

void report(const Options& options, const Rope* rope, const std::string& name_of_rope,
            const std::vector<std::string>& names, const std::string& kernel) {
  const std::string policy(rope ? name(rope->policy()) : "");
  note(rope ? options.out + ": " + list(names) + " rotated by rope \"" + name_of_rope + "\", direction " +
                  options.direction + ", pairing " + std::string(name(rope->pairing())) + ", angles " +
                  policy + ", kernel " + kernel
            : options.out + ": a copy, since the layer has no rope");
  if (!options.json) return;
  using Json = nlohmann::ordered_json;
  const auto or_null = [&](const auto& value) { return rope ? Json(value) : Json(); };
  std::cout << pretty({{"schema", "rotary.apply/1"},
                       {"in", options.in},
                       {"out", options.out},
                       {"tensors", names},
                       {"rope", or_null(name_of_rope)},
                       {"direction", options.direction},
                       {"pairing", rope ? Json(name(rope->pairing())) : Json()},
                       {"angles", or_null(policy)},
                       {"kernel", or_null(kernel)}});
}

void apply(const Options& options) {
  check_kernel(options.kernel);
  const Model model = options.model.load();
  const ModelRope* entry = options.choice.choose(model);
  const TensorFile input(options.in, "q");
  check_output(options.out, input.tensors().size());

  const auto names = tensor_names(options, input);
  std::vector<Work> works;
  for (const auto& name : names) {
    const auto& tensor = input.at(name);
    works.push_back({&tensor, heads_of(layout_of(options, input, tensor), input, tensor), {}});
  }
  std::optional<Rope> rope;
  std::string kernel;
  if (entry) {
    rope = turned(entry->rope, direction_from_name(options.direction).value());
    kernel = rotate(options, input, *rope, works);
  }
  std::vector<formats::FileTensor> all(input.tensors().begin(), input.tensors().end());
  for (auto& tensor : all)
    for (const auto& work : works)
      if (rope && work.tensor->name == tensor.name) tensor.bytes = work.bytes;
  save(options.out, all, input.metadata());
  report(options, rope ? &*rope : nullptr, entry ? entry->name : "", names, kernel);
}

constexpr const char* footer =
    R"(Every other tensor of the input, and its metadata, pass through unchanged. A layer without a rope copies.

Examples:
  rotary apply ./my-model --layer 0 --in qk.safetensors --out rotated.safetensors --positions 0:4096
  rotary apply gemma-3-4b --rope global --in qk.safetensors --out qk.safetensors --direction inverse
  rotary apply --base 10000 --head-dim 64 --in q.npy --out rotated.npy --positions ids.npy --layout bhtd)";

}  // namespace

void add_apply(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("apply", "Rotates the q and k in a file by a model's rope");
  command->footer(footer);
  options->model.add_to(*command);
  options->choice.add_to(*command);
  command->add_option("--in", options->in, "The .safetensors or .npy to read")
      ->required()
      ->option_text("FILE REQUIRED");
  command->add_option("--out", options->out, "The .safetensors or .npy to write; may be the same file")
      ->required()
      ->option_text("FILE REQUIRED");
  options->positions.add_to(*command)->description(
      "Where the tokens stand: first:last, last left out, as 0:4096; or a FILE.npy; or a\n"
      "FILE.safetensors with a tensor `positions`: [tokens], [batch, tokens] or\n"
      "[axes, batch, tokens]. Default: the tensor `positions` of the input");
  command->add_option("--tensors", options->tensors, "The tensors to rotate; default q,k")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("A,B");
  command
      ->add_option("--layout", options->layout,
                   "Order of the axes: bthd (batch, tokens, heads, head_dim), bhtd, thd. Default: the\n"
                   "file's metadata \"layout\", else bthd for 4 axes and thd for 3")
      ->check(CLI::IsMember({"bthd", "bhtd", "thd"}))
      ->option_text("NAME");
  command
      ->add_option("--direction", options->direction,
                   "forward as the model does (default), inverse to undo it, gradient for the transpose")
      ->check(CLI::IsMember({"forward", "inverse", "gradient"}))
      ->option_text("NAME");
  command->add_option("--kernel", options->kernel, "Force a kernel by its name, as `rotary doctor` lists it")
      ->option_text("NAME");
  command
      ->add_option("--threads", options->threads, "Threads to rotate with; the bits stay the same. Default 1")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  command->add_flag("--json", options->json, "Print schema rotary.apply/1, a summary");
  command->callback([options] { apply(*options); });
}

}  // namespace rotary::tool
