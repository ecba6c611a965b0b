// The files of docs/vectors: inputs and output bits of every op and elementary function, random draws, orders of samples, encodings.
// docs/vectors/README.md says how to read them. Pure: the same text on every machine.
#pragma once

#include <map>
#include <string>

namespace assay::docs {

std::string FunctionVectors();
std::string OpVectors();
std::string TypeVectors();
std::string DrawVectors();
std::string DataVectors();
std::string JobVectors();
std::string DerivationVectors();
std::string RoundedVectors();
std::string RoundedOpVectors();  // of these, what no log is needed for

// All of them by file name.
std::map<std::string, std::string> Vectors();

}  // namespace assay::docs
