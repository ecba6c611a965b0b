// A server's places for connections, shared out between peers: whoever holds most gives way first, so that nobody can keep the others out
// by holding connections that do nothing.
//
// A peer is an address, not a connection (PeerOfAddress), until a request says whose it is. A connection that is busy, because its
// request waits for the handler or is being handled, keeps its place; every other may have to leave when a new one comes and the peer, or
// the server, has no place left: of the peer with most connections, first one that is leaving anyway, then the one that has waited
// longest for its peer's next request, and last the one whose peer has been longest in taking its answer. Bytes of an unfinished request
// do not count as progress. Pure bookkeeping, for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

// Whom an address stands for: an IPv4 address for itself, also where it is written as IPv6, an IPv6 address for its network of 64 bits,
// since whoever has one address there has all. Text that is no address stands for itself.
std::string PeerOfAddress(std::string_view address);

class Places {
 public:
  using Id = std::uint64_t;
  enum class Doing {
    kLeaving,  // has nothing more to say
    kWaiting,  // for a handshake's end or for a whole request
    kSending,  // an answer, to a peer that may or may not read it; or taking a long body, of which the same is true
    kBusy,
  };
  struct Admission {
    Id id = 0;
    std::optional<Id> dismissed;  // the connection that must be closed for it; its place is taken
  };

  Places(std::size_t total, std::size_t per_peer) : total_(total), per_peer_(per_peer) {}

  // A place for a new connection, which waits; none where all that could make room are busy.
  std::optional<Admission> Admit(const std::string& peer);
  // Counts a connection as another peer's, where more has become known of it than its address. False where that peer has no place left
  // and all of its connections are busy; the connection then stays where it was.
  struct Naming {
    bool admitted = true;
    std::optional<Id> dismissed{};  // as of Admission
  };
  Naming Name(Id id, const std::string& peer);
  // Of a connection that has its place still, otherwise nothing.
  void Set(Id id, Doing doing);
  void Leave(Id id);
  // Whether a request of it is being handled or answered.
  bool IsAtWork(Id id) const;

  std::size_t size() const { return size_; }

 private:
  struct Held {
    Doing doing = Doing::kWaiting;
    std::uint64_t since = 0;  // on `clock_`
  };
  using Holding = std::map<Id, Held>;

  static Holding::const_iterator FirstToGo(const Holding& holding);

  const std::size_t total_;
  const std::size_t per_peer_;
  std::uint64_t clock_ = 0;  // counts changes; also the source of ids
  std::size_t size_ = 0;
  std::map<std::string, Holding> peers_;
  std::map<Id, std::map<std::string, Holding>::iterator> owners_;
};

}  // namespace assay
