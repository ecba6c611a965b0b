#include "assay/verdict/next_step.h"

namespace assay::verdict {

OrderedJson NextJson(const std::vector<NextStep>& next) {
  OrderedJson list = OrderedJson::array();
  for (const NextStep& step : next) {
    const auto text = [](const std::string& s) { return s.empty() ? OrderedJson(nullptr) : OrderedJson(s); };
    list.push_back({{"follow", text(step.follow)},
                    {"hear", text(step.hear)},
                    {"name", step.name},
                    {"by", text(step.by)},
                    {"referee", text(step.referee)},
                    {"followed_by", text(step.followed_by)},
                    {"commands", step.commands}});
  }
  return list;
}

}  // namespace assay::verdict
