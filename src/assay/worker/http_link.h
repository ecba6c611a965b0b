// HttpLink: a coordinator reached over HTTP, each request signed by the worker's key (assay/platform).
//
// One attempt a call: who repeats, and for how long, is the caller's to know. Blobs resume by their hash.
#pragma once

#include <memory>

#include "assay/platform/api_client.h"
#include "assay/worker/link.h"

namespace assay::worker {

// `options` name the server, the token and the worker's key. An error where the server's URL is none.
Result<LinkFactory> MakeHttpLinks(platform::ApiOptions options);

}  // namespace assay::worker
