#include <nlohmann/json.hpp>

#include "assay/base/base64.h"
#include "assay/dispute/retelling.h"

namespace assay::dispute {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string_view WordOf(const Judgement::Party& party) {
  if (IsGuilty(party.standing)) return party.proven ? "convicted" : "accused";
  if (party.standing == Standing::kMisled) return "misled";
  return party.standing == Standing::kSilent ? "silent" : "stands";
}

Json PartiesOf(const Evidence& evidence, const Judgement& judgement) {
  Json parties = Json::array();
  for (std::size_t i = 0; i < judgement.parties.size(); ++i) {
    const Judgement::Party& party = judgement.parties[i];
    const std::string label = evidence.pair ? (i == 0 ? "a" : "b") : std::to_string(party.number);
    parties.push_back({{"label", label},
                       {"name", party.signer->name()},
                       {"key", party.signer->ToString()},
                       {"standing", WordOf(party)},
                       {"why", party.by}});
  }
  return parties;
}

Json FindingOf(const Judgement& judgement) {
  if (judgement.findings.empty()) return nullptr;
  const Finding& finding = judgement.findings.back();
  return {{"cause", ToString(finding.cause)},
          {"reason", finding.reason},
          {"step", OrNull(finding.step)},
          {"node", OrNull(finding.node)},
          {"node_name", finding.node_name},
          {"index", OrNull(finding.index)},
          {"leaf", OrNull(finding.leaf)},
          {"element", OrNull(finding.element)},
          {"guilty", {finding.strikes(Party::kA), finding.strikes(Party::kB)}},
          {"said", {finding.said[0], finding.said[1]}},
          {"truth", finding.truth}};
}

Json TypeOf(const TensorType& type) {
  Json shape = Json::array();
  for (int i = 0; i < type.shape.rank(); ++i) shape.push_back(type.shape[i]);
  return {{"dtype", Name(type.dtype)}, {"shape", std::move(shape)}};
}

Json ValuesOf(const std::vector<RetoldNode::Value>& values) {
  Json list = Json::array();
  for (const RetoldNode::Value& value : values) {
    Json one = TypeOf(value.type);
    one["what"] = value.what;
    one["node"] = OrNull(value.node);
    one["node_name"] = value.node_name;
    list.push_back(std::move(one));
  }
  return list;
}

void AddRounds(const Retelling& told, Json& json) {
  json["steps"] = told.steps;
  json["nodes"] = told.nodes;
  json["sides"] = {told.sides[0], told.sides[1]};
  json["rounds"] = Json::array();
  for (const RetoldRound& round : told.rounds) {
    json["rounds"].push_back({{"phase", round.progress.phase},
                              {"interval", round.progress.interval},
                              {"about", round.about},
                              {"begin", round.begin},
                              {"end", round.end},
                              {"of", round.of},
                              {"asked", round.asked}});
  }
  json["shortened"] = told.shortened;
  if (told.node) {
    json["graph"] = {{"node", told.node->number},
                     {"op", told.node->op},
                     {"name", told.node->name},
                     {"inputs", ValuesOf(told.node->inputs)},
                     {"outputs", ValuesOf(told.node->outputs)}};
  }
  if (told.block) {
    json["block"] = TypeOf(told.block->type);
    json["block"]["what"] = told.block->what;
    json["block"]["first"] = told.block->first;
    json["block"]["bytes"] = {Base64(told.block->said[0]), Base64(told.block->said[1])};
  }
}

}  // namespace

std::string RetellingJson(const Evidence& evidence, const Judgement& judgement) {
  Json json = {{"job", judgement.job.hex()},
               {"verdict", VerdictOf(evidence, judgement)},
               {"convicts", judgement.convicts},
               {"parties", PartiesOf(evidence, judgement)},
               {"finding", FindingOf(judgement)},
               {"open", judgement.drawn ? Json(judgement.drawn->why) : Json(nullptr)},
               {"steps", nullptr},
               {"nodes", nullptr},
               {"sides", nullptr},
               {"rounds", Json::array()},
               {"shortened", false},
               {"graph", nullptr},
               {"block", nullptr}};
  if (const auto told = Retell(evidence)) AddRounds(*told, json);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace assay::dispute
