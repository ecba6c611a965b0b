#include "assay/cli/arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <CLI/CLI.hpp>

#include "assay/base/nearest.h"
#include "assay/base/quote.h"
#include "assay/cli/exit_status.h"
#include "assay/cli/failure.h"

namespace assay::cli {
namespace {

// Validators stay out of the help text, where the option's own words say what it means. What `complain` returns is the error; empty: none.
void Check(CLI::Option* option, std::function<std::string(const std::string&)> complain, const std::string& name = "") {
  option->check(CLI::Validator([complain](std::string& text) { return complain(text); }, "", name));
}

// The words of an option, in lines that fit beside its name on 120 columns.
std::string Wrapped(const std::string& words) {
  constexpr std::size_t kColumns = 90;
  std::string text;
  std::size_t column = 0;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (column > 0 && column + 1 + (end - at) > kColumns) {
      text += '\n';
      column = 0;
    } else if (column > 0) {
      text += ' ';
      ++column;
    }
    text += words.substr(at, end - at);
    column += end - at;
    at = end + 1;
  }
  return text;
}

template <class T>
std::optional<T> IntegerOf(const std::string& text) {
  T value{};
  const std::size_t plus = text.starts_with('+') ? 1 : 0;
  const auto [end, error] = std::from_chars(text.data() + plus, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsDigits(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

template <class T>
std::string IntegerComplaint(const std::string& text, T low, T high) {
  const auto value = IntegerOf<T>(text);
  if (value && *value >= low && *value <= high) return {};
  if (IsDigits(text)) return fmt::format("expected {} .. {}, got {}", low, high, OneLine(text));
  return fmt::format("expected an integer, got {}", text.empty() ? "nothing" : OneLine(text));
}

constexpr const char* kTypesRange = "the range of the variable's type";

template <class T>
Option IntegerOption(CLI::Option* option) {
  using Limits = std::numeric_limits<T>;
  const auto complain = [](const std::string& text) { return IntegerComplaint<T>(text, Limits::min(), Limits::max()); };
  Check(option, complain, kTypesRange);
  return Option(option);
}

std::optional<float> NumberOf(const std::string& text) {
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0 || *end != '\0') return std::nullopt;
  return value;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// CLI11 would only say that a command is missing.
Status CheckCommand(const CLI::App& app, std::string_view word) {
  const std::vector<std::string> names = CommandNames(app);
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return {};
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (const auto meant = Nearest(lower, names)) return Err("unknown command {}; did you mean {}?", Quote(word), *meant);
  return Err("unknown command {}, expected one of: {}", Quote(word), fmt::join(names, ", "));
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

// The first argument that the command does not know, in the order in which they were given.
std::string UnexpectedText(const CLI::App& command, const std::vector<std::string>& arguments) {
  const auto option = std::find_if(arguments.begin(), arguments.end(), [](const std::string& s) { return s.starts_with('-'); });
  if (option == arguments.end()) {
    return fmt::format("{} not expected: {}", arguments.size() == 1 ? "this argument was" : "these arguments were",
                       OneLine(fmt::format("{}", fmt::join(arguments, " "))));
  }
  const std::string name = option->substr(0, option->find('='));
  // Hyphens before a name are no letters of it, by which a short one would look like another.
  const auto meant = Nearest(name.substr(std::min(name.find_first_not_of('-'), name.size())), OptionNames(command));
  return fmt::format("unknown option {}{}", OneLine(name), meant ? fmt::format("; did you mean --{}?", *meant) : "");
}

// CLI11 would take the next option for the value: `--out --json` makes a directory of that name. Such a value can be written --out=--json.
std::optional<std::string> OptionWithoutValue(const CLI::App& command, int first, int argc, char** argv) {
  for (int i = first; i + 1 < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--") || word.find('=') != std::string::npos) continue;
    const CLI::Option* option = command.get_option_no_throw(word);
    if (option == nullptr || option->get_expected_min() == 0) continue;
    if (std::string_view(argv[i + 1]).starts_with("--")) return word;
    ++i;
  }
  return std::nullopt;
}

// What CLI11 says, on one line and in our words.
std::string UsageText(const CLI::ParseError& error, const CLI::App& command) {
  const std::vector<std::string> unexpected = command.remaining();
  const bool extras = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const bool missing = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  const bool unknown_option =
      std::any_of(unexpected.begin(), unexpected.end(), [](const std::string& s) { return s.starts_with('-'); });
  // A misspelt option may be why another is missing.
  if (!unexpected.empty() && (extras || (missing && unknown_option))) return UnexpectedText(command, unexpected);
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
    const std::string name = text.substr(0, text.find(':'));
    if (text.ends_with(" missing")) return fmt::format("{}: expected a value after it", name);
    if (text.find("At Most") != std::string::npos) return fmt::format("{}: expected once, and it was given more often", name);
  }
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

// Of what is asked for and printed before any command runs: whether it has arrived.
int Printed() {
  return RunReported([] { return Result<int>(kExitOk); }, false);
}

bool AsksForJson(int argc, char** argv) {
  const auto asks = [](const char* word) { return std::string_view(word) == "--json"; };
  return std::any_of(argv, argv + argc, asks);
}

int ReportUsage(const CLI::ParseError& error, const CLI::App& app, bool json) {
  const auto chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "" : chosen.front()->get_name();
  const std::string text = UsageText(error, chosen.empty() ? app : *chosen.front());
  const std::string help = command.empty() ? "" : " " + command;
  return ReportFailure(
      fmt::format("{}{}{} (see: {}{} --help)", command, command.empty() ? "" : ": ", text, app.get_name(), help), json);
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
  option_->get_validator(kTypesRange)->active(false);  // which would name limits that this option does not have
  Check(option_, [low, high](const std::string& text) { return IntegerComplaint(text, low, high); });
  return *this;
}

Option& Option::Range(float low, float high) {
  Check(option_, [low, high](const std::string& text) {
    const auto value = NumberOf(text);
    if (value && *value >= low && *value <= high) return std::string();
    return fmt::format("expected {} .. {}, got {}", low, high, OneLine(text));
  });
  return *this;
}

Option& Option::OneOf(const std::vector<std::string>& names) {
  Check(option_, [names](const std::string& text) {
    if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
    return fmt::format("expected one of {}, got {}", fmt::join(names, ", "), Quote(text));
  });
  return *this;
}

Option& Option::NoteGiven(bool& given) {
  option_->each([&given](const std::string&) { given = true; });
  return *this;
}

Option& Option::NotEmpty() {
  Check(option_,
        CLI::Validator([](std::string& value) { return value.empty() ? "expected a name, got an empty one" : ""; }, ""));
  return *this;
}

void Subcommand::Footer(const std::string& text) { app_->footer(text); }

Option Subcommand::Option(const std::string& name, std::string& value, const std::string& help) {
  return cli::Option(app_->add_option(name, value, Wrapped(help)));
}
Option Subcommand::Option(const std::string& name, int& value, const std::string& help) {
  return IntegerOption<int>(app_->add_option(name, value, Wrapped(help)));
}
Option Subcommand::Option(const std::string& name, std::int64_t& value, const std::string& help) {
  return IntegerOption<std::int64_t>(app_->add_option(name, value, Wrapped(help)));
}
Option Subcommand::Option(const std::string& name, std::uint64_t& value, const std::string& help) {
  return IntegerOption<std::uint64_t>(app_->add_option(name, value, Wrapped(help)));
}
Option Subcommand::Option(const std::string& name, float& value, const std::string& help) {
  CLI::Option* option = app_->add_option(name, value, Wrapped(help));
  Check(option, [](const std::string& text) {
    const auto number = NumberOf(text);
    return number && std::isfinite(*number) ? std::string() : fmt::format("expected a number, got {}", OneLine(text));
  });
  return cli::Option(option);
}
Option Subcommand::Option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help) {
  return IntegerOption<std::int64_t>(app_->add_option(name, value, Wrapped(help)));
}

Option Subcommand::Option(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  CLI::Option* option = app_->add_option(name, values, Wrapped(help));
  if (name.starts_with('-')) option->allow_extra_args(false);
  return cli::Option(option);
}

void Subcommand::Flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, Wrapped(help));
}

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

std::optional<int> Arguments::Help(int argc, char** argv) const {
  if (argc == 1) {
    fmt::print(stderr, "{}", impl_->app.help());
    return kExitBadInput;
  }
  if (std::string_view(argv[1]) != "help") return std::nullopt;
  const bool json = AsksForJson(argc, argv);
  const bool about_help = argc == 3 && (std::string_view(argv[2]) == "help" || std::string_view(argv[2]) == "--help");
  if (about_help) --argc;
  // What follows `admin` reads like a command; it has no help of its own.
  if (argc == 4 && (std::string_view(argv[2]) == "admin" || std::string_view(argv[2]) == "data")) --argc;
  if (argc > 3) return ReportFailure(fmt::format("help: expected one command, got {}", argc - 2), json);
  if (argc == 3) {
    const std::vector<std::string> names = CommandNames(impl_->app);
    if (std::find(names.begin(), names.end(), argv[2]) == names.end()) {
      const Status known = CheckCommand(impl_->app, argv[2]);
      return ReportFailure(known ? fmt::format("help: expected a command, got {}", Quote(argv[2])) : known.error().message,
                           json);
    }
  }
  fmt::print("{}", argc == 3 ? impl_->app.get_subcommand(argv[2])->help(impl_->app.get_name()) : impl_->app.help());
  return Printed();
}

std::optional<int> ParseAlone(CLI::App& app, int argc, char** argv) {
  const auto refuse = [&](const std::string& text) {
    fmt::print(stderr, "{}: {} (see: {} --help)\n", app.get_name(), text, app.get_name());
    return kExitBadInput;
  };
  if (const auto option = OptionWithoutValue(app, 1, argc, argv))
    return refuse(fmt::format("{}: expected a value after it", *option));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return refuse(UsageText(error, app));
  }
  return std::nullopt;
}

std::optional<int> Arguments::Parse(int argc, char** argv) {
  if (const auto helped = Help(argc, argv)) return helped;
  const bool json = AsksForJson(argc, argv);
  if (argc > 1) {
    if (const Status known = CheckCommand(impl_->app, argv[1]); !known) return ReportFailure(known.error().message, json);
    const bool is_command = argv[1][0] != '-';
    if (const auto option =
            is_command ? OptionWithoutValue(*impl_->app.get_subcommand(argv[1]), 2, argc, argv) : std::nullopt) {
      return ReportFailure(fmt::format("{}: {}: expected a value after it (see: {} {} --help)", argv[1], *option,
                                       impl_->app.get_name(), argv[1]),
                           json);
    }
  }
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      impl_->app.exit(error);
      return Printed();
    }
    return ReportUsage(error, impl_->app, json);
  }
  return std::nullopt;
}

}  // namespace assay::cli
