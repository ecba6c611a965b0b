#include "assay/job/job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "assay/job/limits.h"
#include "assay/ops/table.h"

namespace assay {
namespace {

const std::filesystem::path kRoot = (std::filesystem::path(__FILE__).parent_path() / "../../..").lexically_normal();

constexpr char kSmall[] = R"(
steps = 7
[model]
kind = "mlp"
hidden = [8, 4]
[data]
kind = "features"
features = 5
classes = 3
)";

std::string ErrorOf(const std::string& text) {
  const auto job = ParseJob(text, "j.toml");
  return job ? "accepted" : job.error().message;
}

std::string Gpt2(const std::string& model, const std::string& rest = "") {
  return "[model]\nkind = \"gpt2\"\n" + model + "\n[data]\nkind = \"chars\"\n" + rest;
}

TEST(Job, ReadsValuesAndDefaults) {
  const auto job = ParseJob(kSmall, "j.toml");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->steps, 7);
  EXPECT_EQ(job->schedule.length, 7);
  EXPECT_EQ(job->commit_every, 10);
  EXPECT_EQ(std::get<MlpConfig>(job->model).hidden, (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(std::get<MlpConfig>(job->model).inputs, 0);
  EXPECT_EQ(job->data.kind, DataKind::kFeatures);
}

TEST(Job, ErrorsNameFileLineKeyAndExpectation) {
  EXPECT_EQ(ErrorOf(Gpt2("width = \"x\"")), "j.toml:3: model.width: expected an integer in 1 .. 65536, got 'x'");
  EXPECT_EQ(ErrorOf(Gpt2("width = 0")), "j.toml:3: model.width: expected an integer in 1 .. 65536, got 0");
  EXPECT_EQ(ErrorOf(Gpt2("width = 1.5")), "j.toml:3: model.width: expected an integer, got 1.5");
  EXPECT_EQ(ErrorOf(Gpt2("dropout = 1.0")), "j.toml:3: model.dropout: expected a number x with 0 <= x < 1, got 1.0");
  EXPECT_EQ(ErrorOf(Gpt2("dropout = nan")), "j.toml:3: model.dropout: expected a number x with 0 <= x < 1, got nan");
  EXPECT_EQ(ErrorOf(Gpt2("dropout = 1e300")), "j.toml:3: model.dropout: expected a number x with 0 <= x < 1, got 1e+300");
  EXPECT_EQ(ErrorOf(Gpt2("depth = 18")), "j.toml:3: 'model.depth' is for resnet, not gpt2");
  EXPECT_EQ(
      ErrorOf(Gpt2("colour = 18")),
      "j.toml:3: 'model.colour': unknown key, expected one of context, dropout, heads, kind, layers, norm_eps, vocab, width");
  EXPECT_EQ(ErrorOf(Gpt2("", "[modle]\nx = 1")), "j.toml:6: 'modle': unknown table; did you mean [model]?");
  EXPECT_EQ(ErrorOf(Gpt2("", "[clothes]\nx = 1")),
            "j.toml:6: 'clothes': unknown table, expected one of batch, commit, data, eval, init, model, name, "
            "optimizer, precision, schedule, seed, seed_from, snapshot, steps");
  EXPECT_EQ(ErrorOf("steps = -1\n" + Gpt2("")), "j.toml:1: steps: expected an integer in 1 .. 4294967295, got -1");
  EXPECT_EQ(ErrorOf("precision = \"fp16\"\n" + Gpt2("")),
            "j.toml:1: precision: expected one of fp32, fp64-rounded, fp32-vendor, int8x3, int8x2, got 'fp16'");
  EXPECT_EQ(ErrorOf("precision = \"fp64-rounded\"\nround_bits = 23\n" + Gpt2("")),
            "j.toml:2: round_bits: expected an integer in 24 .. 32, got 23");
  EXPECT_EQ(ErrorOf("round_bits = 28\n" + Gpt2("")), "j.toml:1: 'round_bits' is for fp64-rounded, not fp32");
  const std::string paper = "precision = \"fp64-rounded\"\nround_rule = \"paper\"\n";
  EXPECT_EQ(ErrorOf(paper + Gpt2("", "[round_tau]\nmatmul = 0.6\n")),
            "j.toml:9: round_tau.matmul: expected a number x with 0 <= x <= 0.5, got 0.6");
  EXPECT_EQ(ErrorOf(paper + Gpt2("", "[round_tau]\nmatmull = 0.3\n")),
            "j.toml:9: round_tau: expected names of ops, got 'matmull'");
  EXPECT_EQ(ErrorOf(paper + "round_tau = 3\n" + Gpt2("")), "j.toml:3: round_tau: expected a table of numbers by op, got 3");
  EXPECT_EQ(ErrorOf("precision = \"fp64-rounded\"\n" + Gpt2("", "[round_tau]\nmatmul = 0.3\n")),
            "j.toml:7: 'round_tau' is for paper, not bound");
  EXPECT_EQ(ErrorOf(Gpt2("", "[round_tau]\nmatmul = 0.3\n")), "j.toml:6: 'round_tau' is for round_rule = paper");
  EXPECT_EQ(ErrorOf("model = 3\n"), "j.toml:1: model: expected a table, got 3");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"gpt3\"\n"),
            "j.toml:2: model.kind: expected one of gpt2, llama, resnet, mlp, huggingface, got 'gpt3'");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"gpt2\"\n"),
            "j.toml: has no table [data]: data.kind: expected one of chars, bpe, tokens, cifar10, images, features, cifar100, "
            "arrays, packed, "
            "got nothing");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"mlp\"\nhidden = [1, \"a\"]\n[data]\nkind = \"features\"\n"),
            "j.toml:3: model.hidden: expected a list of at most 256 integers in 1 .. 1048576, got 'a'");
  EXPECT_EQ(ErrorOf(Gpt2("heads = 5\nwidth = 64")), "j.toml:3: model.heads: 5 heads must divide the width 64");
  EXPECT_EQ(ErrorOf(Gpt2("context = 32\nlayers = 1")),
            "j.toml: batch.sequence: expected an integer in 1 .. 32, because model.context is 32, got 64");
  EXPECT_EQ(ErrorOf(Gpt2("", "[schedule]\nkind = \"warmup_cosine\"\nwarmup = 100\n")),
            "j.toml:8: schedule.warmup: expected less than the schedule's length 100, got 100");
  EXPECT_EQ(ErrorOf(Gpt2("", "[optimizer]\nkind = \"sgd\"\nbeta1 = 0.5\n")),
            "j.toml:8: 'optimizer.beta1' is for adam, adamw, not sgd");
  EXPECT_EQ(ErrorOf(Gpt2("", "[optimizer]\nkind = \"adamw\"\nmomentum = 0.5\n")),
            "j.toml:8: 'optimizer.momentum' is for sgd, not adamw");
  EXPECT_EQ(ErrorOf("lr = 0.1\n" + Gpt2("")), "j.toml:1: 'lr': unknown key; did you mean schedule.lr?");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"gpt2\"\n[data]\nkind = \"arrays\"\n"),
            "j.toml:4: data.kind: a language model needs chars, bpe, tokens or packed, got 'arrays'");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"gpt2\"\n[data]\nkind = \"bpe\"\n"),
            "j.toml:3: data.vocabulary: expected a folder with encoder.json and vocab.bpe, or with tokenizer.json");
}

TEST(Job, ANumberWithAPointIsNoIntegerAndIsShownAsWritten) {
  EXPECT_EQ(ErrorOf("steps = 5.0\n" + Gpt2("")), "j.toml:1: steps: expected an integer, got 5.0");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"resnet\"\ndepth = 50.0\n[data]\nkind = \"images\"\n"),
            "j.toml:3: model.depth: expected an integer, got 50.0");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"mlp\"\nhidden = [8, 4.0]\n[data]\nkind = \"features\"\n"),
            "j.toml:3: model.hidden: expected an integer, got 4.0");
}

TEST(Job, AValueInQuotationMarksIsToldToGoWithoutThem) {
  EXPECT_EQ(ErrorOf("steps = \"10\"\n" + Gpt2("")),
            "j.toml:1: steps: expected an integer in 1 .. 4294967295, got the string \"10\"; remove the quotes");
  EXPECT_EQ(ErrorOf(Gpt2("dropout = \"0.1\"")),
            "j.toml:3: model.dropout: expected a number x with 0 <= x < 1, got the string \"0.1\"; remove the quotes");
  EXPECT_EQ(ErrorOf(Gpt2("", "[snapshot]\nstart = \"true\"\n")),
            "j.toml:7: snapshot.start: expected true or false, got the string \"true\"; remove the quotes");
}

TEST(Job, ARangeThatRefusesAValueSaysWhy) {
  EXPECT_EQ(ErrorOf(Gpt2("dropout = 0.99999999999")),
            "j.toml:3: model.dropout: expected a number x with 0 <= x < 1, got 0.99999999999, which is 1 in 32 bits");
  EXPECT_EQ(ErrorOf(Gpt2("", "[schedule]\nlr = 1e31\n")),
            "j.toml:7: schedule.lr: expected a number >= 0, at most 1e30, got 1e+31");
  EXPECT_EQ(ErrorOf(Gpt2("", "[schedule]\nlr = 1e30\n")), "accepted");
  std::string many = "1";
  for (int i = 0; i < 256; ++i) many += ", 1";
  EXPECT_EQ(ErrorOf("[model]\nkind = \"mlp\"\nhidden = [" + many + "]\n[data]\nkind = \"features\"\n"),
            "j.toml:3: model.hidden: expected a list of at most 256 integers in 1 .. 1048576, got a list of 257");
}

TEST(Job, WhatWasMisspeltIsNamedBeforeWhatIsMissingForIt) {
  EXPECT_EQ(ErrorOf("[modle]\nkind = \"mlp\"\n[data]\nkind = \"features\"\n"),
            "j.toml:1: 'modle': unknown table; did you mean [model]?");
  EXPECT_EQ(ErrorOf("[model]\nknd = \"mlp\"\nhidden = [3]\n[data]\nkind = \"features\"\n"),
            "j.toml:2: 'model.knd': unknown key; did you mean kind?");
  EXPECT_EQ(ErrorOf("[model]\n[data]\nkind = \"features\"\n"),
            "j.toml:1: model.kind: expected one of gpt2, llama, resnet, mlp, huggingface, got nothing");
  EXPECT_EQ(ErrorOf(Gpt2("widht = 32")), "j.toml:3: 'model.widht': unknown key; did you mean width?");
}

TEST(Job, WhatOnlyTheDataShowsNamesFileAndLine) {
  const auto folder = std::filesystem::temp_directory_path() / "assay_job_located_test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "j.toml").string();
  std::ofstream(file) << "[model]\nkind = \"gpt2\"\nvocab = 3\n[data]\nkind = \"chars\"\n";
  EXPECT_EQ(LocatedInFile(file, {"model.vocab: expected more"}).message, file + ":3: model.vocab: expected more");
  EXPECT_EQ(LocatedInFile(file, {"data.samples: too few"}).message, file + ":4: data.samples: too few");
  EXPECT_EQ(LocatedInFile(file, {"batch: too large"}).message, file + ": batch: too large");
  EXPECT_EQ(LocatedInFile(file, {"/data/a.txt: is empty"}).message, "/data/a.txt: is empty");
  EXPECT_EQ(LocatedInFile("", {"model.vocab: expected more"}).message, "model.vocab: expected more");
  EXPECT_EQ(LocatedInFile(file + ".gone", {"model.vocab: more"}).message, file + ".gone: model.vocab: more");
}

TEST(Job, HostileTomlIsOneLine) {
  for (const std::string& text :
       {std::string("a = "), std::string("[[["), std::string("\xff\xfe\x00", 3), std::string(5000, '['),
        std::string("a=1\na=2"), "x = " + std::string(100000, '['), std::string("\"a\\nb\" = 1"), std::string(2 << 20, ' ')}) {
    const std::string message = ErrorOf(text);
    EXPECT_NE(message, "accepted");
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.substr(0, 6), "j.toml");
  }
}

TEST(Job, CharactersThatTheTomlParserCannotHandle) {
  EXPECT_EQ(ErrorOf("a = 1\n\xef\xbb\x85"), "j.toml:2: U+FEC5 can stand in comments and one-line strings only");
  EXPECT_EQ(ErrorOf("\"\\\"\" \xc3\xa9"), "j.toml:1: U+00E9 can stand in comments and one-line strings only");
  EXPECT_EQ(ErrorOf("a = \"\"\"\\\n\n\xc3\xa9\"\"\""), "j.toml:3: U+00E9 can stand in comments and one-line strings only");
  EXPECT_EQ(ErrorOf("a = \'\'\'\xc3\xa9\'\'\'"), "j.toml:1: U+00E9 can stand in comments and one-line strings only");
  EXPECT_EQ(ErrorOf("a = 1\n\n\xff"), "j.toml:3: not valid UTF-8");
  EXPECT_EQ(ErrorOf("\xef\xbb\xbf# \xc3\xa9 'x\n" + Gpt2("", "path = \"\xe6\x97\xa5\"\n")), "accepted");
  EXPECT_EQ(ErrorOf("name = '\xc3\xa9' # \xc3\xa9\n" + Gpt2("")), "accepted");
}

TEST(Job, PrintsAsAFileThatReadsBack) {
  for (const std::string& text :
       {std::string(kSmall),
        Gpt2("dropout = 0.3\nheads = 4\nwidth = 32",
             "[init]\nweights = \"a\\\"b\"\n[schedule]\nkind = \"warmup_cosine\"\nlr = 3e-4\nwarmup = 3\n"),
        std::string("[model]\nkind = \"resnet\"\n[data]\nkind = \"cifar10\"\n[optimizer]\nkind = \"sgd\"\n[schedule]\nkind = "
                    "\"step\"\nevery = 5\n")}) {
    const auto job = ParseJob(text, "a");
    ASSERT_TRUE(job) << job.error().message;
    const std::string printed = ToToml(*job);
    const auto again = ParseJob(printed, "b");
    ASSERT_TRUE(again) << again.error().message << "\n" << printed;
    EXPECT_EQ(ToToml(*again), printed);
    EXPECT_EQ(Encode(*again, {}), Encode(*job, {}));
    EXPECT_EQ(again->init_weights, job->init_weights);
  }
}

TEST(Job, PathsAreRelativeToTheFile) {
  const auto folder = std::filesystem::temp_directory_path() / "assay_job_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "j.toml") << Gpt2("", "path = \"text/a.txt\"\n[init]\nweights = \"/abs/w\"\n");
  const auto job = LoadJob(folder / "j.toml");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->data.path, (folder / "text/a.txt").string());
  EXPECT_EQ(job->init_weights, "/abs/w");
  std::filesystem::remove_all(folder);
  EXPECT_NE(LoadJob(folder / "j.toml").error().message.find("j.toml"), std::string::npos);
}

TEST(Identity, FollowsWhatCanChangeABitAndNothingElse) {
  const Job job = ParseJob(Gpt2(""), "a").value();
  const Bytes base = Encode(job, {});
  const auto differs = [&](auto&& change) {
    Job other = job;
    change(other);
    return Encode(other, {}) != base;
  };
  EXPECT_TRUE(differs([](Job& j) { j.seed = 2; }));
  EXPECT_TRUE(differs([](Job& j) { j.steps = 2; }));
  EXPECT_TRUE(differs([](Job& j) { j.schedule.lr = std::nextafter(j.schedule.lr, 1.0f); }));
  EXPECT_TRUE(differs([](Job& j) { j.batch.microbatches = 2; }));
  EXPECT_TRUE(differs([](Job& j) { j.data.stride = 2; }));
  EXPECT_TRUE(differs([](Job& j) { j.commit_every = 2; }));
  EXPECT_TRUE(differs([](Job& j) { j.optimizer.clip_norm = 1; }));
  EXPECT_TRUE(differs([](Job& j) { std::get<Gpt2Config>(j.model).dropout = 0; }));
  EXPECT_TRUE(differs([](Job& j) { std::get<Gpt2Config>(j.model).norm_eps = 1e-6f; }));
  EXPECT_FALSE(differs([](Job& j) { j.data.special_tokens = true; }));  // the data root tells it
  EXPECT_FALSE(differs([](Job& j) { j.name = "x"; }));
  EXPECT_FALSE(differs([](Job& j) { j.data.path = "x"; }));
  EXPECT_FALSE(differs([](Job& j) { j.data.validation = 0.25f; }));  // the root of the training part tells it
  EXPECT_FALSE(differs([](Job& j) { j.init_weights = "x"; }));
  EXPECT_FALSE(differs([](Job& j) { j.eval.every = 5; }));
  EXPECT_FALSE(differs([](Job& j) { j.snapshot.keep = 5; }));
  JobInputs inputs;
  inputs.data.bytes[0] = 1;
  EXPECT_NE(Encode(job, inputs), base);
  inputs = {};
  inputs.weights = Digest{};
  EXPECT_NE(Encode(job, inputs), base);
}

TEST(Resolve, TakesFromTheDataWhatTheFileLeavesOpen) {
  Job job = ParseJob(kSmall, "a").value();
  const Data data = OpenData(job.data, 0).value();
  ASSERT_TRUE(ResolveModel(job, data));
  EXPECT_EQ(std::get<MlpConfig>(job.model).inputs, 5);
  EXPECT_EQ(std::get<MlpConfig>(job.model).classes, 3);
  std::get<MlpConfig>(job.model).classes = 4;
  EXPECT_EQ(ResolveModel(job, data).error().message, "model.classes: 4 does not fit the data, which has 3");
}

constexpr std::string_view kImages = "[model]\nkind = \"resnet\"\nwidth = 2\n[data]\nkind = \"arrays\"\nlayout = \"nchw\"\n";

TEST(Job, ArraysHaveTheirOwnKeysAndDefaults) {
  const Job job = ParseJob(kImages, "a").value();
  EXPECT_EQ(job.data.kind, DataKind::kArrays);
  EXPECT_EQ(job.data.layout, ArrayLayout::kNchw);
  EXPECT_EQ(job.data.inputs, "x");
  EXPECT_FALSE(job.data.augment);
  EXPECT_TRUE(ParseJob("[model]\nkind = \"resnet\"\n[data]\nkind = \"cifar100\"\n", "a")->data.augment);
  const std::string flat = "[model]\nkind = \"mlp\"\n[data]\nkind = \"arrays\"\n";
  EXPECT_EQ(ErrorOf(flat + "augment = true\n"), "j.toml:5: data.augment: expected images, data.layout = \"nhwc\" or \"nchw\"");
  EXPECT_EQ(ErrorOf(flat + "layout = \"hwc\"\n"), "j.toml:5: data.layout: expected one of flat, nhwc, nchw, got 'hwc'");
  EXPECT_EQ(ParseJob(ToToml(job), "a")->data.layout, ArrayLayout::kNchw);
}

// The layout makes samples, so it is part of the id; names and places are not.
TEST(Identity, ArraysAreReadBack) {
  Job job = ParseJob(kImages, "a").value();
  job.model = ResNetConfig{};
  const Bytes base = Encode(job, {});
  const auto decoded = DecodeJob(base);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->job.data.kind, DataKind::kArrays);
  EXPECT_EQ(decoded->job.data.layout, ArrayLayout::kNchw);
  job.data.layout = ArrayLayout::kNhwc;
  EXPECT_NE(Encode(job, {}), base);
  job.data.layout = ArrayLayout::kNchw;
  job.data.inputs = "other";
  job.data.path = "elsewhere";
  EXPECT_EQ(Encode(job, {}), base);
}

// A width that is the height's is not in the encoding: square images have the id that they always had.
TEST(Resolve, ImagesThatAreNotSquare) {
  Job job = ParseJob(kImages, "a").value();
  Data data;
  data.shape = {.classes = 4, .classes_exact = false, .height = 8, .width = 12, .channels = 2};
  ASSERT_TRUE(ResolveModel(job, data));
  const auto& model = std::get<ResNetConfig>(job.model);
  EXPECT_EQ(model.image, 8);
  EXPECT_EQ(model.image_width, 12);
  const auto decoded = DecodeJob(Encode(job, {}));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(std::get<ResNetConfig>(decoded->job.model).image_width, 12);
  Job square = ParseJob(kImages, "a").value();
  std::get<ResNetConfig>(square.model).image_width = 8;
  EXPECT_EQ(ResolveModel(square, data).error().message, "model.image_width: 8 does not fit the data, which has 12");
  data.shape.width = 8;
  ASSERT_TRUE(ResolveModel(square, data));
  EXPECT_EQ(std::get<ResNetConfig>(square.model).image_width, 0);
  EXPECT_EQ(Encode(square, {}).size() + (4 + 17 + 1) + 8, Encode(job, {}).size());
}

TEST(Resolve, ArraysHaveAtLeastTheirLabels) {
  Job job = ParseJob("[model]\nkind = \"mlp\"\nclasses = 3\n[data]\nkind = \"arrays\"\n", "a").value();
  Data data;
  data.shape = {.classes = 4, .classes_exact = false, .features = 7};
  EXPECT_EQ(ResolveModel(job, data).error().message, "model.classes: expected at least 4 for this data, got 3");
  std::get<MlpConfig>(job.model).classes = 9;
  EXPECT_TRUE(ResolveModel(job, data));
  data.shape = {.classes = 4, .classes_exact = false, .height = 2, .width = 2, .channels = 1};
  EXPECT_EQ(ResolveModel(job, data).error().message, "data.layout: an mlp reads vectors, expected flat");
}

// A packed file's job is the job of what it holds.
TEST(Packed, JobsAreThoseOfTokensAndArrays) {
  const auto job_of = [](std::string_view kind, std::string text) {
    if (const std::size_t at = text.find("KIND"); at != std::string::npos) text.replace(at, 4, kind);
    const auto job = ParseJob(text, "j.toml");
    EXPECT_TRUE(job) << job.error().message;
    return job.value_or(Job());
  };
  const std::string gpt2 = "[model]\nkind = \"gpt2\"\nvocab = 5\n[data]\nkind = \"KIND\"\npath = \"d\"\nstride = 3\n";
  const std::string mlp =
      "[model]\nkind = \"mlp\"\ninputs = 4\nclasses = 2\n[data]\nkind = \"KIND\"\npath = \"d\"\nlayout = \"flat\"\n";
  EXPECT_EQ(Encode(job_of("packed", gpt2), {}), Encode(job_of("tokens", gpt2), {}));
  EXPECT_EQ(Encode(job_of("packed", mlp), {}), Encode(job_of("arrays", mlp), {}));
  EXPECT_FALSE(TrainsOnArrays(job_of("packed", gpt2)));
  EXPECT_TRUE(TrainsOnArrays(job_of("packed", mlp)));
  EXPECT_EQ(MaxSourceBytes(job_of("packed", mlp)), MaxSourceBytes(job_of("arrays", mlp)));
  for (const std::string& text : {gpt2, mlp}) {
    const Job job = job_of("packed", text);
    EXPECT_EQ(ToToml(job_of("", ToToml(job))), ToToml(job));
    const auto decoded = DecodeJob(Encode(job, {}));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(TrainsOnArrays(decoded->job), TrainsOnArrays(job));
  }
  EXPECT_EQ(job_of("packed", gpt2 + "vocabulary = \"v\"\n").data.vocabulary, "v");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"mlp\"\n[data]\nkind = \"packed\"\nstride = 3\n"),
            "j.toml:5: 'data.stride' is not for data.kind = packed with this model");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"mlp\"\n[data]\nkind = \"packed\"\nlayout = \"nhwc\"\n"),
            "j.toml:5: data.layout: an mlp reads vectors, expected flat");
}

TEST(Resolve, LanguageModelsNeedAVocabularyThatHoldsTheIds) {
  Job job = ParseJob(Gpt2("layers = 1"), "a").value();
  Data data;
  EXPECT_EQ(ResolveModel(job, data).error().message, "data.kind: a language model needs chars, bpe, tokens or packed tokens");
  data.shape.vocabulary = 300;
  data.shape.vocabulary_exact = false;
  EXPECT_EQ(ResolveModel(job, data).error().message,
            "model.vocab: expected the vocabulary's size, which a token file does not tell (its largest id is 299)");
  std::get<Gpt2Config>(job.model).vocab = 299;
  EXPECT_EQ(ResolveModel(job, data).error().message, "model.vocab: expected at least 300 for this data, got 299");
  std::get<Gpt2Config>(job.model).vocab = 512;
  EXPECT_TRUE(ResolveModel(job, data));
}

TEST(Schedule, Constant) {
  Schedule s{.lr = 0.5f, .warmup = 4};
  EXPECT_EQ(LearningRate(s, 0), 0.125f);
  EXPECT_EQ(LearningRate(s, 3), 0.5f);
  EXPECT_EQ(LearningRate(s, 1'000'000'000), 0.5f);
}

TEST(Schedule, WarmupCosine) {
  Schedule s{.kind = ScheduleKind::kWarmupCosine, .lr = 1e-3f, .warmup = 10, .min_lr = 1e-4f, .length = 110};
  EXPECT_EQ(LearningRate(s, 9), 1e-3f);
  EXPECT_EQ(LearningRate(s, 10), 1e-3f);
  EXPECT_EQ(LearningRate(s, 110), 1e-4f);
  EXPECT_EQ(LearningRate(s, 5000), 1e-4f);
  for (std::int64_t step = 10; step < 110; ++step) {
    const double share = 0.5 * (1 + std::cos(M_PI * static_cast<double>(step - 10) / 100));
    EXPECT_NEAR(LearningRate(s, step), 1e-4 + share * 9e-4, 1e-9);
  }
}

TEST(Schedule, Step) {
  Schedule s{.kind = ScheduleKind::kStep, .lr = 1.0f, .every = 30, .gamma = 0.5f};
  EXPECT_EQ(LearningRate(s, 29), 1.0f);
  EXPECT_EQ(LearningRate(s, 30), 0.5f);
  EXPECT_EQ(LearningRate(s, 95), 0.125f);
}

// Steps above 2^24 are not binary32 integers.
TEST(Schedule, LargeStepsStayDistinct) {
  const std::int64_t warmup = (1 << 24) + 3;
  const Schedule s{.lr = 1.0f, .warmup = warmup};
  EXPECT_EQ(LearningRate(s, 1 << 24), static_cast<float>(16777217.0 / 16777219.0));
  EXPECT_LT(LearningRate(s, (1 << 24) - 1), LearningRate(s, (1 << 24) + 1));
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(Docs, EveryKeyIsDocumentedWithItsTypeDefaultAndRange) {
  const std::string docs = ReadAll(kRoot / "docs/JOBS.md");
  for (const JobKey& key : JobKeys()) {
    const std::string row =
        fmt::format("| `{}` | {} | {} | {} | {} |", key.name, key.when.empty() ? "all" : key.when, key.type,
                    key.fallback.empty() ? "required" : key.fallback, key.range.empty() ? "any" : key.range);
    EXPECT_NE(docs.find(row), std::string::npos) << "docs/JOBS.md lacks a row that begins\n" << row;
  }
}

TEST(Examples, EveryOneParsesAndFitsItsData) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "examples")) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    auto job = LoadJob(entry.path());
    ASSERT_TRUE(job) << job.error().message;
    const auto data = OpenData(job->data, job->batch.sequence);
    ASSERT_TRUE(data) << data.error().message;
    const auto fits = ResolveModel(*job, *data);
    EXPECT_TRUE(fits) << entry.path() << ": " << fits.error().message;
    const JobInputs inputs{.data = data->root, .weights = {}};
    const Bytes encoded = Encode(*job, inputs);
    const auto decoded = DecodeJob(encoded);
    ASSERT_TRUE(decoded) << entry.path() << ": " << decoded.error().message;
    EXPECT_EQ(decoded->inputs.data, data->root);
    EXPECT_EQ(decoded->job.steps, job->steps);
    EXPECT_EQ(LearningRate(decoded->job.schedule, 7), LearningRate(job->schedule, 7));
    EXPECT_EQ(decoded->job.data.stride, job->data.stride);
    EXPECT_EQ(decoded->job.data.augment, job->data.augment);
  }
  EXPECT_GE(count, 8);
}

TEST(Identity, DigitsArePartOfIt) {
  const std::string text = Gpt2("vocab = 65");
  const Job plain = ParseJob(text, "a").value();
  std::set<Bytes> encodings = {Encode(plain, {})};
  for (const auto& [name, precision, digits] :
       {std::tuple{"int8x3", Precision::kInt8x3, 3}, std::tuple{"int8x2", Precision::kInt8x2, 2}}) {
    const std::string line = fmt::format("precision = \"{}\"\n", name);
    const Job job = ParseJob(line + text, "a").value();
    EXPECT_EQ(job.precision, precision);
    EXPECT_EQ(DigitsOf(job.precision), digits);
    EXPECT_TRUE(IsExact(job.precision));
    EXPECT_EQ(ParseJob(ToToml(job), "a").value().precision, precision);
    const Bytes encoded = Encode(job, {});
    EXPECT_TRUE(encodings.insert(encoded).second);
    EXPECT_EQ(encoded.size(), Encode(plain, {}).size() + 2);  // of the name alone
    const auto decoded = DecodeJob(encoded);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(decoded->job.precision, precision);
    EXPECT_EQ(ErrorOf(line + "round_bits = 30\n" + text),
              "j.toml:2: 'round_bits' is for fp64-rounded, not " + std::string(name));
  }
  EXPECT_EQ(DigitsOf(Precision::kFp32) + DigitsOf(Precision::kFp64Rounded) + DigitsOf(Precision::kFp32Vendor), 0);
  EXPECT_FALSE(IsExact(Precision::kFp64Rounded) || IsExact(Precision::kFp32Vendor));
}

// A program that is another precision's is no program of the job.
TEST(Limits, DigitsAreThoseOfTheJob) {
  Job job = ParseJob(kSmall, "a").value();
  std::get<MlpConfig>(job.model).inputs = 5;
  std::get<MlpConfig>(job.model).classes = 3;
  for (const Precision precision : {Precision::kFp32, Precision::kFp64Rounded, Precision::kInt8x3, Precision::kInt8x2}) {
    job.precision = precision;
    for (const int digits : {0, 2, 3}) {
      const Status status = CheckLimits(job, BuildProgram(job.model, job.optimizer, job.batch, digits));
      EXPECT_EQ(status.has_value(), digits == DigitsOf(precision)) << digits;
      if (!status) {
        EXPECT_NE(status.error().message.find("digits"), std::string::npos) << status.error().message;
      }
    }
  }
}

TEST(Identity, ThresholdsArePartOfItWhereThereAreSome) {
  const std::string paper = "precision = \"fp64-rounded\"\nround_rule = \"paper\"\n" + Gpt2("vocab = 65");
  const Job none = ParseJob(paper, "a").value(), empty = ParseJob(paper + "[round_tau]\n", "a").value();
  const Job some = ParseJob(paper + "[round_tau]\nmatmul = 0.375\nadd = 0.5\n", "a").value();
  EXPECT_EQ(Encode(empty, {}), Encode(none, {}));
  const Bytes encoded = Encode(some, {});
  EXPECT_EQ(encoded.size(), Encode(none, {}).size() + (4 + 9 + 1) + 8 + (4 + 6 + 4) + (4 + 3 + 4));
  const auto decoded = DecodeJob(encoded);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->job.round_tau, (std::map<std::string, float>{{"add", 0.5f}, {"matmul", 0.375f}}));
  EXPECT_EQ(ParseJob(ToToml(some), "a").value().round_tau, some.round_tau);
  for (std::size_t i = 0; i < encoded.size(); ++i) EXPECT_FALSE(DecodeJob(ByteSpan(encoded).first(i))) << i;
}

TEST(Identity, ASeedMayFollowFromACommitment) {
  const std::string hex(64, 'a'), key = "seed_from = \"" + hex + "\"\n";
  Job plain = ParseJob(kSmall, "a").value();
  Job bound = ParseJob(key + kSmall, "a").value();
  Data data;
  data.root = HashBytes(AsBytes("data"));
  data.shape = {.classes = 3, .classes_exact = true, .features = 5};
  ASSERT_TRUE(ResolveModel(bound, data));
  ASSERT_TRUE(ResolveModel(plain, data));
  EXPECT_EQ(bound.seed, SeedFrom(data.root, *Digest::FromHex(hex)));
  EXPECT_EQ(bound.seed >> 63, 0u);
  EXPECT_NE(SeedFrom(Digest{}, *Digest::FromHex(hex)), bound.seed);
  const JobInputs inputs{.data = data.root, .weights = {}};
  const auto decoded = DecodeJob(Encode(bound, inputs));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->job.seed, bound.seed);
  EXPECT_EQ(decoded->job.seed_from, bound.seed_from);
  EXPECT_EQ(ParseJob(ToToml(bound), "a").value().seed_from, bound.seed_from);
  // Where it is left out, nothing shows of it.
  EXPECT_FALSE(DecodeJob(Encode(plain, inputs))->job.seed_from);
  EXPECT_EQ(ErrorOf(key + "seed = 3\n" + kSmall), "j.toml:2: seed: follows from seed_from; leave one of the two out");
  EXPECT_EQ(ErrorOf("seed_from = \"abc\"\n" + std::string(kSmall)),
            "j.toml:1: seed_from: expected 64 hex digits in lower case, in quotation marks, got 'abc'");
}

TEST(Identity, ReadsBackOnlyWhatWasWritten) {
  JobInputs inputs;
  inputs.weights = Digest{};
  const Bytes encoded = Encode(ParseJob(Gpt2("vocab = 65"), "a").value(), inputs);
  const auto decoded = DecodeJob(encoded);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(decoded->inputs.weights);
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    EXPECT_FALSE(DecodeJob(ByteSpan(encoded).first(i))) << i;
    Bytes other = encoded;
    other[i] ^= 0x80;
    const auto read = DecodeJob(other);
    EXPECT_TRUE(!read || Encode(read->job, read->inputs) == other) << i;
  }
  Bytes longer = encoded;
  longer.push_back(0);
  EXPECT_FALSE(DecodeJob(longer));
}

}  // namespace
}  // namespace assay
