// SPDX-License-Identifier: Apache-2.0
// Ropes of image encoders, against the angles of Transformers' own modules for one step along each axis.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <rotary/model.hpp>

#include "model_checks.hpp"
#include "support/json.hpp"

namespace rotary {
namespace {

using nlohmann::json;

void expect_angle(double ours, double theirs, const std::string& what) {
  EXPECT_NEAR(ours, theirs, 1e-6 * std::abs(theirs)) << what;
}

/// The pairs of a rope, whose first lanes are `lane` and those behind it.
void expect_equal(const Rope& rope, const json& angles, std::size_t lane, std::size_t first_axis) {
  const Spectrum& spectrum = rope.spectrum();
  const std::size_t lanes_a_pair = rope.pairing() == Pairing::interleaved ? 2 : 1;
  for (std::size_t axis = 0; axis < angles.size(); ++axis) {
    for (std::size_t pair = 0; pair < spectrum.inv_freq().size(); ++pair) {
      const bool follows = spectrum.axis()[pair] + first_axis == axis;
      expect_angle(follows ? spectrum.inv_freq()[pair] : 0, angles[axis][lane + lanes_a_pair * pair],
                   "axis " + std::to_string(axis) + " pair " + std::to_string(pair));
    }
  }
}

TEST(Vision, EqualTransformersEncoders) {
  const json encoders = testing::data_json("vision_ropes.json").at("encoders");
  for (const json& encoder : encoders) {
    SCOPED_TRACE(encoder.at("model_type").get<std::string>());
    const auto model = Model::from_config(encoder.at("config").dump());
    ASSERT_SUCCEEDS(model);
    EXPECT_TRUE(model->warnings().empty());
    const json& angles = encoder.at("angles");
    const std::size_t lanes = angles[0].size();
    if (model->ropes().size() == 2) {  // Gemma 4: x on lanes 0-31, y on lanes 32-63
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const Rope& rope = model->ropes()[axis].rope;
        EXPECT_EQ(rope.rotary_offset(), static_cast<std::int64_t>(axis * lanes / 2));
        EXPECT_EQ(rope.rotary_dim(), static_cast<std::int64_t>(lanes / 2));
        expect_equal(rope, angles, axis * lanes / 2, axis);
      }
      continue;
    }
    ASSERT_EQ(model->ropes().size(), 1U);
    EXPECT_EQ(model->ropes()[0].rope.rotary_dim(), static_cast<std::int64_t>(lanes));
    EXPECT_FALSE(model->layers().empty());
    const auto type = encoder.at("model_type").get<std::string>();
    const bool of_sam = type.find("sam") != type.npos || type.find("tam") != type.npos;
    EXPECT_EQ(model->ropes()[0].rope.pairing(), of_sam ? Pairing::interleaved : Pairing::half_split);
    expect_equal(model->ropes()[0].rope, angles, 0, 0);
  }
  EXPECT_EQ(encoders.size(), 19U);
}

TEST(Vision, Gemma4HasTwoRopesALayer) {
  const auto model = testing::load(R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text",
      "num_hidden_layers": 6}, "vision_config": {"model_type": "gemma4_vision"}})");
  const ModelRope *x = model.find_rope("vision-x"), *y = model.find_rope("vision-y");
  ASSERT_NE(x, nullptr);
  ASSERT_NE(y, nullptr);
  EXPECT_FALSE(x->of_layers);
  EXPECT_EQ(y->rope.rotary_offset(), 32);
  EXPECT_EQ(y->rope.spectrum().base(), 100);
  EXPECT_EQ(model.layers().size(), 6U);
  // Not width by heads, 128.
  const auto wide =
      testing::load(R"({"model_type": "gemma4_vision", "hidden_size": 4096, "num_attention_heads": 32})");
  EXPECT_EQ(wide.find_rope("vision-x")->rope.head_dim(), 64);
}

TEST(Vision, MemoryAttentionOfSam2HasSizesOfItsOwn) {
  const auto sam = [](const std::string& sizes) {
    return Model::from_config(R"({"model_type": "sam2_video")" + sizes + "}", "config.json");
  };
  const auto silent = sam("").value();
  EXPECT_EQ(silent.ropes()[0].rope.head_dim(), 256);
  EXPECT_EQ(silent.layers().size(), 4U);
  const auto stated = sam(R"(, "memory_attention_hidden_size": 512, "memory_attention_downsample_rate": 2,
      "memory_attention_num_attention_heads": 4, "memory_attention_num_layers": 3,
      "memory_attention_rope_theta": 100.0)");
  ASSERT_SUCCEEDS(stated);
  EXPECT_EQ(stated->ropes()[0].rope.head_dim(), 64);
  EXPECT_EQ(stated->layers().size(), 3U);
  EXPECT_NEAR(stated->ropes()[0].rope.spectrum().inv_freq()[1], 0.74989420933, 1e-11) << "100^(-2/32)";
  EXPECT_FAILS(sam(R"(, "memory_attention_num_attention_heads": 3)"), StatusCode::malformed,
               "memory_attention_hidden_size 256: must be a multiple of memory_attention_downsample_rate * "
               "memory_attention_num_attention_heads, 3");
  EXPECT_FAILS(sam(R"(, "memory_attention_downsample_rate": 0)"), StatusCode::malformed,
               "memory_attention_downsample_rate 0: must be from 1 to 8192");
  EXPECT_FAILS(sam(R"(, "memory_attention_num_layers": -1)"), StatusCode::malformed,
               "memory_attention_num_layers -1: must be from 0 to 10000");
}

// Sam3Config().to_dict() and its like: the encoder stands in parts of parts.
TEST(Vision, Sam3sEncoderStandsInPartsOfParts) {
  const std::string vit = R"({"model_type": "sam3_vit_model", "hidden_size": 1024, "num_attention_heads": 16,
      "num_hidden_layers": 32, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "axial"}})";
  const std::string vision = R"({"model_type": "sam3_vision_model", "backbone_config": )" + vit + "}";
  const auto within = [](const std::string& type, const std::string& part, const std::string& more = "") {
    return R"({"model_type": ")" + type + R"(", )" + part + more + "}";
  };
  const std::string sam =
      within("sam3", R"("text_config": {"model_type": "clip_text_model"}, "vision_config": )" + vision);
  const Rope alone = testing::load(vit).ropes()[0].rope;
  EXPECT_EQ(alone.rotary_dim(), 64);
  for (const std::string& config : {vision, sam, within("sam3_tracker", R"("vision_config": )" + vision),
                                    within("sam3_video", R"("detector_config": )" + sam)}) {
    const Model model = testing::load(config);
    EXPECT_EQ(model.ropes()[0].rope, alone);
    EXPECT_EQ(model.layers().size(), 32U);
    EXPECT_EQ(model.model_type(), "sam3_vit_model");
    EXPECT_TRUE(model.warnings().empty());
  }
  const Model video = testing::load(within("sam3_video", R"("detector_config": )" + sam,
                                           R"(, "tracker_config": {"model_type": "sam3_tracker_video"})"));
  ASSERT_EQ(video.warnings().size(), 1U);
  EXPECT_EQ(video.warnings()[0],
            "tracker_config: not read; its memory attention has a rope of its own, which "
            "it describes as a file alone");
  const Model tracker = testing::load(within("sam3_tracker_video", R"("vision_config": )" + vision));
  EXPECT_EQ(tracker.ropes()[0].rope.rotary_dim(), 256) << "the memory attention";
  ASSERT_EQ(tracker.warnings().size(), 1U);
  EXPECT_EQ(tracker.warnings()[0],
            "vision_config: not read; its encoder has a rope of its own, which it "
            "describes as a file alone");
  EXPECT_EQ(testing::load(R"({"model_type": "sam3_vit_model", "num_hidden_layers": 32})")
                .ropes()[0]
                .rope.head_dim(),
            64)
      << "hidden_size and num_attention_heads of the class";
  EXPECT_FAILS(Model::from_config(R"({"model_type": "sam3"})"), StatusCode::malformed,
               "vision_config: missing, which model_type sam3 has its encoder in");
  EXPECT_FAILS(Model::from_config(within("sam2", R"("vision_config": {})")), StatusCode::unsupported,
               "it has no rotary embedding");
}

TEST(Vision, MusicFlamingoHasARopeOfTimeBesideItsTexts) {
  const auto flamingo = [](const std::string& keys) {
    return Model::from_config(R"({"model_type": "musicflamingo", "text_config": {"model_type": "qwen2",
        "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096,
        "rope_theta": 10000.0})" + keys +
                                  "}",
                              "config.json");
  };
  const auto silent = flamingo("");
  ASSERT_SUCCEEDS(silent);
  EXPECT_EQ(silent->find_rope("time")->rope.rotary_dim(), 512);
  EXPECT_EQ(silent->layers().size(), 2U);
  const auto stated =
      flamingo(R"(, "audio_config": {"hidden_size": 64}, "rope_parameters": {"rope_theta": 100.0,
      "partial_rotary_factor": 0.25})");
  ASSERT_SUCCEEDS(stated);
  EXPECT_TRUE(stated->warnings().empty());
  const Rope& time = stated->find_rope("time")->rope;
  EXPECT_EQ(time.rotary_dim(), 32);
  EXPECT_NEAR(time.spectrum().inv_freq()[1], 0.5623413252, 1e-10) << "100^(-2/16)";
  EXPECT_EQ(stated->find_rope("default")->rope.spectrum().base(), 10000);
  EXPECT_FAILS(flamingo(R"(, "rope_parameters": {"rope_type": "yarn", "factor": 2})"),
               StatusCode::unsupported,
               "rope_parameters.rope_type \"yarn\": a scaling of the rope of time; must be default");
  EXPECT_FAILS(flamingo(R"(, "rope_parameters": {"partial_rotary_factor": 0.75})"), StatusCode::malformed,
               "rope_parameters.partial_rotary_factor 0.75 of a width of 1280: must be at least 2 lanes and "
               "at most half of them, of a width up to 8192");
  EXPECT_FAILS(flamingo(R"(, "audio_config": {"hidden_size": -5})"), StatusCode::malformed,
               "of a width of -5: must be at least 2 lanes");
  EXPECT_FAILS(flamingo(R"(, "audio_config": {"hidden_size": 3})"), StatusCode::malformed,
               "config.json: default of musicflamingo 0.2 of a width of 3: must be at least 2 lanes");
}

// Only Transformers' encoders are compared (vision_ropes.json).
TEST(VisionPeers, AnImageEncoderIsKnownOfTransformersAlone) {
  for (const std::string config : {R"({"model_type": "dinov3_vit")", R"({"model_type": "pixtral")"}) {
    const Model model =
        testing::load(config + R"(, "hidden_size": 384, "num_attention_heads": 6, "num_hidden_layers": 2})");
    const Rope& encoder = model.ropes()[0].rope;
    EXPECT_EQ(encoder.spectrum().parts().size(), 2U);
    EXPECT_EQ(model.as(Peer::transformers)->ropes()[0].rope, encoder);
    EXPECT_FAILS(model.as(Peer::mlx), StatusCode::unsupported,
                 "config.json: rope vision: it has no encoders of images or sound");
    EXPECT_TRUE(model.rope_as(Peer::mlx, 0).is_known);
    for (const Peer peer : {Peer::llama_cpp, Peer::vllm, Peer::sglang}) {
      EXPECT_FAILS(model.as(peer), StatusCode::unsupported,
                   "not known: nothing is described here of its encoders of images or sound");
      EXPECT_FALSE(model.rope_as(peer, 0).is_known) << name(peer);
    }
  }
}

// Beside a text model, the encoder's rope stays as the file says, and a value says so.
TEST(VisionPeers, AnEncoderBesideATextModelStays) {
  const Model model =
      testing::load(R"({"model_type": "qwen2_vl", "text_config": {"model_type": "qwen2_vl_text",
      "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2}, "vision_config": {
      "model_type": "qwen2_vl_vision", "embed_dim": 1280, "num_heads": 16}})");
  for (const Peer peer : peers) {
    const auto theirs = model.as(peer);
    ASSERT_SUCCEEDS(theirs);
    EXPECT_EQ(theirs->find_rope("vision")->rope, model.find_rope("vision")->rope) << name(peer);
  }
  const auto by_vllm = model.as(Peer::vllm);
  EXPECT_EQ(std::get<std::string>(testing::find_value(*by_vllm, "vllm", 1)->value),
            "not known: nothing is described here of its encoders of images or sound; as the file says");
}

}  // namespace
}  // namespace rotary
