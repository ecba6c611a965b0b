#include <algorithm>
#include <thread>

#include "assay/base/file.h"
#include "assay/cli/command.h"
#include "assay/cli/signer.h"
#include "assay/cli/verification.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;

struct VerifyOptions {
  std::string file;
  std::string receipt;
  std::string signer;
  bool json = false;
};

Result<Against> AgainstOf(const VerifyOptions& options) {
  Against against;
  if (!options.signer.empty()) {
    ASSAY_ASSIGN(against.signer, ParseSigner(options.signer));
  }
  if (!options.receipt.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, ReadFile(options.receipt, kMaxReceiptBytes));
    ASSAY_ASSIGN(against.receipt,
                 dispute::OpenClaim({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options.receipt));
  }
  return against;
}

Result<int> RunVerify(const VerifyOptions& options) {
  ASSAY_ASSIGN(const Against against, AgainstOf(options));
  ThreadPool pool(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  ASSAY_ASSIGN(Verification verification, IsDelivery(options.file) ? VerifyDelivery(options.file, against, pool)
                                                                   : VerifyFile(options.file, against, pool));
  if (against.signer && against.receipt && against.receipt->signer.point() != against.signer->point()) {
    verification = Contradicted(verification.kind, fmt::format("{}: is signed by {}, not by {}", options.receipt,
                                                               against.receipt->signer.ToString(), against.signer->ToString()));
  }
  if (options.json) {
    OrderedJson json = {{"file", options.file}};
    AddVerification(json, verification);
    fmt::print("{}\n", Dump(json));
  } else {
    fmt::print("{}", VerificationText(verification));
  }
  return ExitStatusOf(verification);
}

}  // namespace

void AddVerify(Arguments& app, Command& command) {
  auto options = std::make_shared<VerifyOptions>();
  Subcommand sub = app.Add("verify", "Check a receipt, checkpoint, proof, model, snapshot, evidence or delivery offline");
  sub.Footer(
      "Needs neither the run nor its data. Says what kind of file it is, whether its signatures, hashes and proofs hold,\n"
      "what it shows and what it does not.\n"
      "\n"
      "Exit status 0: valid. 1: not valid, because it is not what the receipt signs for or not of the signer. 2: of no kind\n"
      "that is known. 3: nothing at hand to check it by, or evidence that convicts nobody. 4: not valid, because the copy is\n"
      "damaged.\n"
      "\n"
      "Examples: assay verify receipt.json --signer provider.pub\n"
      "          assay verify model.safetensors --receipt receipt.json --signer provider.pub\n"
      "          assay verify FOLDER --signer coordinator.pub    # a model that assay fetch left, with life and evidence\n"
      "          assay log runs/mlp --prove 20 --json > proof.json && assay verify proof.json --signer provider.pub");
  sub.Option("file", options->file, "The file").Required().Type("FILE");
  sub.Option("--receipt", options->receipt, "The receipt that a model, snapshot, checkpoint or proof must belong to")
      .Type("FILE");
  sub.Option("--signer", options->signer,
             "Public key, or a file with it, of whoever must have signed it (of evidence: must be convicted)")
      .Type("KEY");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunVerify);
}

}  // namespace assay::cli
