#include "assay/cli/arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include <CLI/CLI.hpp>

#include "assay/cli/exit_status.h"

namespace assay::cli {
namespace {

// Validators stay out of the help text, where the option's own words say what it means.
template <class T>
void Check(CLI::Option* option, const T& validator) {
  option->check(CLI::Validator(validator).description(""));
}

// CLI11 would only say that a command is missing.
Status CheckCommand(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return {};
  return Err("unknown command '{}', expected one of: {}", word, fmt::join(names, ", "));
}

// What CLI11 says, on one line and in our form.
int ReportUsage(const CLI::ParseError& error, const CLI::App& app) {
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  const auto chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
  fmt::print(stderr, "{}:{} {} (see: {}{} --help)\n", app.get_name(), command.empty() ? "" : command + ":", text,
             app.get_name(), command);
  return kExitBadInput;
}

}  // namespace

Option& Option::Required() {
  option_->required();
  return *this;
}

Option& Option::Type(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Option& Option::Range(std::int64_t low, std::int64_t high) {
  Check(option_, CLI::Range(low, high));
  return *this;
}

Option& Option::Range(float low, float high) {
  Check(option_, CLI::Range(low, high));
  return *this;
}

Option& Option::OneOf(const std::vector<std::string>& names) {
  Check(option_, CLI::IsMember(names));
  return *this;
}

Option& Option::NotEmpty() {
  Check(option_,
        CLI::Validator([](std::string& value) { return value.empty() ? "expected a name, got an empty one" : ""; }, ""));
  return *this;
}

void Subcommand::Footer(const std::string& text) { app_->footer(text); }

Option Subcommand::Option(const std::string& name, std::string& value, const std::string& help) {
  return cli::Option(app_->add_option(name, value, help));
}
Option Subcommand::Option(const std::string& name, int& value, const std::string& help) {
  return cli::Option(app_->add_option(name, value, help));
}
Option Subcommand::Option(const std::string& name, std::int64_t& value, const std::string& help) {
  return cli::Option(app_->add_option(name, value, help));
}
Option Subcommand::Option(const std::string& name, std::uint64_t& value, const std::string& help) {
  return cli::Option(app_->add_option(name, value, help));
}
Option Subcommand::Option(const std::string& name, float& value, const std::string& help) {
  return cli::Option(app_->add_option(name, value, help));
}
Option Subcommand::Option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help) {
  return cli::Option(app_->add_option(name, value, help));
}

Option Subcommand::Option(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  CLI::Option* option = app_->add_option(name, values, help);
  if (name.starts_with('-')) option->allow_extra_args(false);
  return cli::Option(option);
}

void Subcommand::Flag(const std::string& name, bool& value, const std::string& help) { app_->add_flag(name, value, help); }

void Subcommand::OnChosen(std::function<void()> action) { app_->callback(std::move(action)); }

struct Arguments::Impl {
  CLI::App app;
};

Arguments::Arguments(const std::string& program, const std::string& description, const std::string& footer,
                     const std::string& version)
    : impl_(new Impl{CLI::App(description, program)}) {
  impl_->app.footer(footer);
  impl_->app.require_subcommand(1);
  impl_->app.set_version_flag("--version", version);
}

Arguments::~Arguments() = default;

Subcommand Arguments::Add(const std::string& name, const std::string& description) {
  return Subcommand(impl_->app.add_subcommand(name, description));
}

std::optional<int> Arguments::Parse(int argc, char** argv) {
  if (argc > 1) {
    if (const Status known = CheckCommand(impl_->app, argv[1]); !known) {
      fmt::print(stderr, "{}: {}\n", impl_->app.get_name(), known.error().message);
      return kExitBadInput;
    }
  }
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return impl_->app.exit(error);
    return ReportUsage(error, impl_->app);
  }
  return std::nullopt;
}

}  // namespace assay::cli
