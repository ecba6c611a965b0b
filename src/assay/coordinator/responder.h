// Responder: the answer to one request of the API, given once, by any thread and at any time, and written to the log when it is. See net/reply.h, whose Reply it
// holds.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "assay/coordinator/answer.h"
#include "assay/net/reply.h"

namespace assay::coordinator {

class Responder {
 public:
  using Note = std::function<void(int status, const Failure* failure)>;
  // `note` is told how the request was answered, once.
  // `mlflow`: failures have the form of MLflow's.
  Responder(Reply reply, Note note, bool mlflow = false) : reply_(std::move(reply)), note_(std::move(note)), mlflow_(mlflow) {}
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) noexcept = default;

  bool Send(Answer answer) {
    if (!answer) {
      Tell(answer.error().status, &answer.error());
      return reply_.Send(mlflow_ ? ToMlflowResponse(answer.error(), true) : ToResponse(answer.error()));
    }
    Tell(answer->status, nullptr);
    return reply_.Send(*std::move(answer));
  }
  bool SendFile(HttpResponse head, FileRange range) {
    Tell(head.status, nullptr);
    return reply_.SendFile(std::move(head), std::move(range));
  }
  ReplyStream Begin(HttpResponse head, StreamTerms terms = {}) {
    Tell(head.status, nullptr);
    return reply_.Begin(std::move(head), std::move(terms));
  }
  bool gone() const { return reply_.gone(); }
  void OnGone(std::function<void()> callback) { reply_.OnGone(std::move(callback)); }

 private:
  void Tell(int status, const Failure* failure) {
    if (note_) std::exchange(note_, nullptr)(status, failure);
  }
  Reply reply_;
  Note note_;
  bool mlflow_ = false;
};

}  // namespace assay::coordinator
