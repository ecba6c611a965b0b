#include "assay/base/quote.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/sign/key.h"

namespace assay::cli {
namespace {

struct KeygenOptions {
  std::string out;
  std::string name = "assay";
  bool json = false;
};

Result<int> RunKeygen(const KeygenOptions& options) {
  if (!IsKeyName(options.name)) {
    return Err("--name: expected 1 to 64 characters from A-Z a-z 0-9 . _ - /, got {}", Quote(options.name));
  }
  const SigningKey key = SigningKey::Generate(options.name);
  ASSAY_TRY(WriteKeyFiles(options.out, key));
  const std::string text = key.verify_key().ToString();
  if (options.json) {
    const OrderedJson json = {{"private_key_file", options.out},
                              {"public_key_file", options.out + ".pub"},
                              {"name", options.name},
                              {"keyid", key.verify_key().id()},
                              {"public_key", text}};
    // A path is bytes and need not be UTF-8.
    fmt::print("{}\n", Dump(json));
    return kExitOk;
  }
  fmt::print("private key  {} (keep it secret; whoever has it signs in your name)\n", options.out);
  fmt::print("public key   {}.pub\n", options.out);
  fmt::print("{}\n", text);
  return kExitOk;
}

}  // namespace

void AddKeygen(Arguments& app, Command& command) {
  auto options = std::make_shared<KeygenOptions>();
  Subcommand sub = app.Add("keygen", "Make a key to sign runs with");
  sub.Footer("Example: assay keygen --out provider.key --name example.org/provider");
  sub.Option("--out", options->out, "File of the private key (mode 0600); the public one goes to PATH.pub. Never overwrites")
      .Required()
      .NotEmpty()
      .Type("PATH");
  sub.Option("--name", options->name, "The signer's name, which signatures carry").ShowDefault().Type("NAME");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunKeygen);
}

}  // namespace assay::cli
