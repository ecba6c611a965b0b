// Routes: the table of everything that the API answers. What a request may do, how large it may be and what the OpenAPI document says of it all follow from its
// row.
//
// A row has one of three handlers. `answer` computes and returns, on a worker thread. `later` gets a responder, which it may keep: long polls, streams, files.
// `upload` takes the body in pieces, for what is not held in memory. Rows are added before the server starts; thread safe from then on.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/coordinator/call.h"
#include "assay/coordinator/caller.h"
#include "assay/coordinator/responder.h"
#include "assay/net/service.h"

namespace assay::coordinator {

// A body under way. Made, fed and ended by threads that may wait for a disk or the database, one at a time.
class Upload : public BodySink {
 public:
  // Called when the whole body has been taken.
  virtual Answer End() = 0;
};

// A field of the query, or a header.
struct QueryField {
  std::string_view name;
  std::string_view type;  // "integer", "string"
  std::string_view what;
  bool required = false;
};

struct Route {
  enum class Body { kNone, kJson, kRaw, kUpload };

  std::string method{};   // "POST"
  std::string path{};     // "/v1/orders/{id}"
  Roles roles{};          // none: open to all
  std::string summary{};  // one line
  Body body = Body::kNone;
  std::size_t max_body_bytes = 64 << 10;
  std::vector<QueryField> query{};
  std::vector<QueryField> headers{};  // that the route reads, besides those of every request by its roles
  // For the OpenAPI document: names of schemas (AddSchema); a name with a '/' is a content type of bytes that no schema describes; empty: no content.
  std::string request_schema{}, response_schema{};
  int status = 200;             // of a success
  std::vector<int> statuses{};  // others that are no errors, and errors that only this route has
  bool quiet = false;           // not in the log where it succeeds: what comes every second
  bool background = false;      // what thousands of workers send all the time (Course::background)
  // One of these. `at_once`: `later` is called by the thread of input and output, because it neither waits nor works.
  std::function<Answer(const Call& call)> answer{};
  std::function<void(Call call, Responder responder)> later{};
  std::function<Outcome<std::unique_ptr<Upload>>(const Call& call)> upload{};
  bool at_once = false;
};

class Routes {
 public:
  void Add(Route route);
  // A part of the OpenAPI document that rows name: JSON text of a schema.
  void AddSchema(const std::string& name, std::string_view json);

  struct Match {
    const Route* route = nullptr;
    std::map<std::string, std::string, std::less<>> path{};
  };
  // 404 where no row has the path, 405 where one has it with other methods.
  Outcome<Match> Find(std::string_view method, const Target& target) const;

  const std::vector<std::unique_ptr<Route>>& rows() const { return rows_; }
  const std::map<std::string, Json>& schemas() const { return schemas_; }

 private:
  std::vector<std::unique_ptr<Route>> rows_;
  std::vector<std::vector<std::string>> parts_;  // of their paths
  std::map<std::string, Json> schemas_;
};

}  // namespace assay::coordinator
