// Arguments: how subcommands declare what they take. The library that reads a command line is behind this header, in one source file, because it
// is slow to compile.
//
// A subcommand declares its options with the variables that they set; these must live until the command has run. Not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace assay::cli {

// One option, while it is being declared.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& Required();
  Option& Type(const std::string& name);  // what the help calls its value: "FILE"
  Option& ShowDefault();                  // the help tells the variable's present value
  Option& Range(std::int64_t low, std::int64_t high);
  Option& Range(int low, int high) { return Range(std::int64_t{low}, std::int64_t{high}); }
  Option& Range(float low, float high);
  Option& OneOf(const std::vector<std::string>& names);
  Option& NotEmpty();
  Option& NoteGiven(bool& given);  // becomes true where the user named the option, with whatever value

 private:
  CLI::Option* option_;
};

class Subcommand {
 public:
  explicit Subcommand(CLI::App* app) : app_(app) {}
  void Footer(const std::string& text);
  // A name without dashes is an argument by its place.
  cli::Option Option(const std::string& name, std::string& value, const std::string& help);
  cli::Option Option(const std::string& name, int& value, const std::string& help);
  cli::Option Option(const std::string& name, std::int64_t& value, const std::string& help);
  cli::Option Option(const std::string& name, std::uint64_t& value, const std::string& help);
  cli::Option Option(const std::string& name, float& value, const std::string& help);
  cli::Option Option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help);
  // Given as often as wanted, one value each; by its place, as many values as there are.
  cli::Option Option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void Flag(const std::string& name, bool& value, const std::string& help);
  // Called when the user chose this subcommand and its options have been read.
  void OnChosen(std::function<void()> action);

 private:
  CLI::App* app_;
};

// For a program without subcommands, whose options were declared by a Subcommand of `app`: an exit status when there is nothing to run, as Arguments::Parse.
std::optional<int> ParseAlone(CLI::App& app, int argc, char** argv);

class Arguments {
 public:
  // `footer` ends the help of the program.
  Arguments(const std::string& program, const std::string& description, const std::string& footer, const std::string& version);
  ~Arguments();
  Subcommand Add(const std::string& name, const std::string& description);
  // An exit status when there is nothing to run: help was asked for and printed (also by `help` and `help COMMAND`), or the command line is wrong and was
  // reported. Without a word there is nothing to report but the help.
  std::optional<int> Parse(int argc, char** argv);

 private:
  std::optional<int> Help(int argc, char** argv) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::cli
