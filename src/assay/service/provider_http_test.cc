#include "assay/service/provider_http.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "assay/merkle/tree.h"

namespace assay::service {
namespace {

class Small : public dispute::Account {
 public:
  const Bytes& job() const override { return job_; }
  const Bytes& program() const override { return program_; }
  const std::string& receipt() const override { return receipt_; }
  Result<std::shared_ptr<const HashTree>> Tree(const dispute::TreeName& tree) override {
    if (tree.kind != dispute::TreeKind::kLog) return tl::unexpected(Error{"the disk failed", true});
    return std::make_shared<const HashTree>(Hashes{LeafHash({})});
  }
  Result<Bytes> Leaf(const dispute::TreeName&, std::uint64_t) override { return Bytes{}; }
  Result<dispute::SamplesAnswer> Samples(const dispute::SamplesQuestion&) override { return Err("no samples"); }
  Result<std::vector<ref::Value>> Parts(const dispute::PartsQuestion&) override { return Err("no parts"); }

 private:
  Bytes job_{1, 2, 3}, program_{4, 5};
  std::string receipt_ = "{}\n";
};

class ProvideHttpTest : public testing::Test {
 protected:
  HttpResponse Send(std::string method, std::string target, Bytes body = {}) {
    return RespondAsProvider(
        {.method = std::move(method), .target = std::move(target), .headers = {}, .body = std::move(body), .peer = {}}, account,
        answerer);
  }
  static dispute::Docket MakeDocket() {
    const auto anybody = [](ByteSpan, const Signature&, const dispute::KeyPoint&) { return true; };
    const dispute::Budget much{.work = {.steps_run = 9, .steps_traced = 9, .batches_loaded = 9}, .bytes = 9'999'999};
    return dispute::Docket(
        {.job = {},
         .receipt = HashBytes(AsBytes("own")),
         .contradicts = [](const std::string&) -> Status { return {}; },
         .is_opened = anybody,
         .is_asked = [](ByteSpan, const Digest&, const Signature&, const dispute::KeyPoint&) { return true; }},
        {.bout = much, .open_to_all = dispute::Times(3, much)});
  }
  // The dispute's id.
  Digest Open() {
    dispute::Opening opening{.shown = "theirs"};
    opening.receipts = {HashBytes(AsBytes("own")), HashBytes(AsBytes("theirs"))};
    std::ranges::sort(opening.receipts, {}, &Digest::bytes);
    Bytes message = Encode(opening);
    message.resize(message.size() + sizeof(Signature));
    const HttpResponse response = Send("POST", "/v1/dispute", message);
    EXPECT_EQ(response.status, 200);
    return Digest::FromHex(std::string(response.body.begin(), response.body.begin() + 64)).value();
  }
  static Bytes Asked(Bytes question) {
    question.resize(question.size() + sizeof(Signature));
    return question;
  }
  Small account;
  SigningKey key{"test", ed25519::Seed{7}};
  dispute::Answerer answerer{account, key, MakeDocket()};
};

TEST_F(ProvideHttpTest, Documents) {
  EXPECT_EQ(Send("GET", "/v1/job").bytes().data(), account.job().data());
  EXPECT_EQ(Send("GET", "/v1/program").bytes().data(), account.program().data());
  EXPECT_EQ(Send("GET", "/v1/program").bytes().size(), account.program().size());
  const HttpResponse receipt = Send("GET", "/v1/receipt");
  EXPECT_EQ(receipt.status, 200);
  EXPECT_EQ(receipt.content_type, "application/json");
  EXPECT_EQ(receipt.body, (Bytes{'{', '}', '\n'}));
}

TEST_F(ProvideHttpTest, Answers) {
  const Bytes question = Encode(Open(), dispute::LeavesQuestion{.tree = {.kind = dispute::TreeKind::kLog}, .spans = {{0, 1}}});
  const HttpResponse response = Send("POST", "/v1/answer", Asked(question));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/octet-stream");
  const auto answer = dispute::DecodeAnswer(response.body);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(IsSignedBy(*answer, question, key.verify_key()));
}

TEST_F(ProvideHttpTest, EverythingElseIsToldApart) {
  EXPECT_EQ(Send("POST", "/v1/answer", {1, 2, 3}).status, 400);
  EXPECT_EQ(Send("POST", "/v1/dispute", {1, 2, 3}).status, 400);
  const dispute::Question failing = dispute::CommitQuestion{{.kind = dispute::TreeKind::kTrace, .at = 1}};
  EXPECT_EQ(Send("POST", "/v1/answer", Asked(Encode(Digest{}, failing))).status, 409) << "not open";
  const HttpResponse failed = Send("POST", "/v1/answer", Asked(Encode(Open(), failing)));
  EXPECT_EQ(failed.status, 503);
  EXPECT_GT(failed.retry_after_s, 0);
  EXPECT_EQ(Send("GET", "/v1/answer").status, 405);
  EXPECT_EQ(Send("GET", "/v1/dispute").status, 405);
  EXPECT_EQ(Send("POST", "/v1/receipt").status, 405);
  EXPECT_EQ(Send("GET", "/v1/receipt?x=1").status, 404);
  EXPECT_EQ(Send("GET", "/").status, 404);
  EXPECT_EQ(Send("GET", "/v1/../id").status, 404);
}

}  // namespace
}  // namespace assay::service
