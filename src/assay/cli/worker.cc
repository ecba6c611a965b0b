#include "assay/cli/command.h"
#include "assay/cli/worker_command.h"

namespace assay::cli {
namespace {

Result<int> RunWorker(const WorkerTerms& terms) {
  worker::Craft honest;
  return RunWorkerWith(terms, honest);
}

}  // namespace

void AddWorker(Arguments& app, Command& command) {
  auto terms = std::make_shared<WorkerTerms>();
  Subcommand sub = app.Add("worker", "Lease work from a coordinator: train, audit, and answer for it, until Ctrl-C");
  sub.Footer(
      "Connects out only, and works behind a firewall. Leases one order at a time, trains or audits it in DIR/orders, and\n"
      "keeps each run until its order is decided, to answer a referee's questions about it. Whatever kills it or the\n"
      "coordinator, it goes on where it was when it is started again in the same folder, if its lease has not run out by\n"
      "then, and ends in the same bytes. Ctrl-C leaves a lease so that it can be taken up again.\n"
      "\n"
      "A job is data, and nothing of it is run. What an order may take of memory, disk and time is checked before work\n"
      "begins and watched while it goes on; a lease that does not fit is given back.\n"
      "\n"
      "Example: ASSAY_TOKEN=assay_... assay worker --work worker1 --server http://coordinator:7400");
  AddWorkerOptions(sub, *terms);
  SetCommand(sub, std::move(terms), command, RunWorker);
}

}  // namespace assay::cli
