// SPDX-License-Identifier: Apache-2.0
#include "formats/npy_header.hpp"

#include <algorithm>
#include <charconv>

#include "base/in_quotes.hpp"
#include "base/names.hpp"
#include "formats/refusing.hpp"
#include "formats/tensor_size.hpp"

namespace rotary::impl {
namespace {

// In the order of DType; NumPy knows no fp8, and bf16 only as two bytes of something.
constexpr std::string_view codes[] = {"f8", "f4", "f2", "V2", "",   "",   "i8", "i4",
                                      "i2", "i1", "u8", "u4", "u2", "u1", "b1"};

class Parser : public Refusing {
 public:
  Parser(std::string_view text, const std::string& origin) : Refusing(origin), text_(text) {}

  const NpyHeader& header() const noexcept { return header_; }

  bool run() {
    if (!expect('{')) return false;
    bool seen[3] = {};
    while (!next_is('}')) {
      std::string_view key;
      if (!string(key) || !expect(':')) return false;
      const auto field = find_name<Field>(fields, key);
      if (!field) return fail("unknown key ", in_quotes(key));
      bool& twice = seen[static_cast<int>(*field)];
      if (twice) return fail(key, " is stated twice");
      twice = true;
      if (!value(*field)) return false;
      if (next_is('}')) break;
      if (!expect(',')) return false;
    }
    for (int i = 0; i < 3; ++i) {
      if (!seen[i]) return fail(fields[i], " is missing");
    }
    if (!expect('}')) return false;
    skip_spaces();
    return at_ == text_.size() || expected("nothing more");
  }

 private:
  enum class Field { descr, fortran_order, shape };
  static constexpr std::string_view fields[] = {"descr", "fortran_order", "shape"};

  bool value(Field field) {
    if (field == Field::descr) return descr();
    if (field == Field::shape) return shape();
    skip_spaces();
    const bool yes = text_.substr(at_).starts_with("True");
    if (!yes && !text_.substr(at_).starts_with("False")) return expected("True or False");
    at_ += yes ? 4 : 5;
    header_.fortran_order = yes;
    return true;
  }

  bool descr() {
    if (next_is('[')) return fail_as(StatusCode::unsupported, "records (descr is a list) are not supported");
    std::string_view text;
    if (!string(text)) return false;
    const std::string_view code = text.substr(text.empty() ? 0 : 1);
    const auto dtype = code.empty() ? std::nullopt : find_name<DType>(codes, code);
    if (!dtype || !(text[0] == '<' || (text[0] == '|' && size_of(*dtype) == 1))) {
      return fail_as(StatusCode::unsupported, "descr ", in_quotes(text), " is not supported",
                     text.starts_with('>') ? ": the bytes must be little-endian" : "");
    }
    header_.dtype = *dtype;
    return true;
  }

  bool shape() {
    if (!expect('(')) return false;
    while (!next_is(')')) {
      std::int64_t extent = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) return expected("a whole number from 0 that fits 63 bits");
      at_ += static_cast<std::size_t>(end - begin);
      if (text_.substr(at_).starts_with('L')) ++at_;  // as Python 2 wrote it
      if (header_.shape.size() == max_axes) return fail("more than ", max_axes, " axes");
      header_.shape.push_back(extent);
      // (3) is a number, (3,) a tuple.
      if (header_.shape.size() > 1 && next_is(')')) break;
      if (!expect(',')) return false;
    }
    return expect(')');
  }

  /// In single or double quotes. An escape never occurs in what NumPy writes here.
  bool string(std::string_view& inside) {
    const char quote = next_is('"') ? '"' : '\'';
    if (!expect(quote)) return false;
    const auto end = text_.find(quote, at_);
    if (end == text_.npos) return expected("a closing quote");
    inside = text_.substr(at_, end - at_);
    if (inside.find('\\') != inside.npos) return expected("text without an escape");
    at_ = end + 1;
    return true;
  }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
  bool next_is(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool expect(char c) {
    if (!next_is(c)) return expected(in_quotes({&c, 1}));
    ++at_;
    return true;
  }

  bool expected(std::string_view what) {
    const auto got = text_.substr(at_, 1);
    return fail("header, byte ", at_, ": expected ", what, ", got ",
                got.empty() ? "its end" : in_quotes(got));
  }
  std::string_view text_;
  std::size_t at_ = 0;
  NpyHeader header_;
};

}  // namespace

std::string_view npy_code(DType dtype) noexcept { return codes[static_cast<std::size_t>(dtype)]; }

Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& origin) {
  Parser parser(text, origin);
  if (!parser.run()) return parser.status();
  return parser.header();
}

std::string npy_header_text(const NpyHeader& header) {
  const auto& shape = header.shape;
  std::string text = message("{'descr': '", size_of(header.dtype) == 1 ? '|' : '<', npy_code(header.dtype),
                             "', 'fortran_order': ", header.fortran_order ? "True" : "False", ", 'shape': (",
                             joined(shape), shape.size() == 1 ? "," : "", "), }");
  // NumPy leaves room for the first extent to grow to 21 digits, and aligns the data to 64 bytes.
  constexpr std::size_t growth = 21, alignment = 64, prefix = 10;
  if (!shape.empty()) text.append(growth - message(shape[0]).size(), ' ');
  text.append(alignment - (prefix + text.size() + 1) % alignment, ' ');
  text += '\n';
  std::string whole(npy_magic);
  whole += {'\1', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return whole + text;
}

}  // namespace rotary::impl
