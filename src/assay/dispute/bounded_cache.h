// BoundedCache: what was made last, by key, within a number of bytes; the least recently used go first. What was put in last stays even where it alone is larger.
// Not synchronised.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace assay::dispute {

template <class Key, class Value>
class BoundedCache {
 public:
  explicit BoundedCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Null where there is none; until the next Put.
  Value* Find(const Key& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    items_.splice(items_.begin(), items_, found->second);
    return &items_.front().value;
  }

  void Put(const Key& key, Value value, std::size_t bytes) {
    if (const auto found = places_.find(key); found != places_.end()) Drop(found->second);
    items_.push_front({key, std::move(value), bytes});
    places_.emplace(key, items_.begin());
    bytes_ += bytes;
    while (bytes_ > limit_bytes_ && items_.size() > 1) Drop(std::prev(items_.end()));
  }

  template <class F>
  void ForEach(const F& visit) const {
    for (const Item& item : items_) visit(item.value);
  }

  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return items_.size(); }

 private:
  struct Item {
    Key key;
    Value value;
    std::size_t bytes;
  };
  void Drop(typename std::list<Item>::iterator item) {
    bytes_ -= item->bytes;
    places_.erase(item->key);
    items_.erase(item);
  }

  std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  std::list<Item> items_;  // the last used first
  std::map<Key, typename std::list<Item>::iterator> places_;
};

}  // namespace assay::dispute
