// SPDX-License-Identifier: Apache-2.0
// Scaling in words: what a type does, what each of its numbers means, and what became of the pairs.
#pragma once

#include <rotary/spectrum.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::tool {

/// A sentence on the type; its name alone for one that has none here.
std::string type_words(const Scaling& scaling);
/// A sentence on one number of a type of that name.
std::string field_words(std::string_view type, std::string_view field, double value);
std::string field_words(std::string_view type, std::string_view field, bool value);
std::string field_words(std::string_view type, std::string_view field, const std::vector<double>& values);
/// "pairs 0-28 kept, 29-34 between, 35-63 divided by 8"; empty where there is no base to compare with.
std::string pair_words(const Spectrum& spectrum);
/// What the length has chosen: "the long list", "base 30527.7"; empty for types that do not depend on it.
std::string choice_words(const Spectrum& spectrum);
/// Where the scaling changes the base and the stated one may have been changed before.
std::string base_words(const Spectrum& spectrum);
/// What A is, by which rule, and what another rule would give.
std::string attention_words(const Spectrum& spectrum);

}  // namespace rotary::tool
