#include "core/store/explanations.h"

#include <algorithm>
#include <utility>

namespace entitable {

std::variant<Explain, PartsNeeded> Explanations::run(std::string_view key, const Table& table,
                                                     const Query& query) {
  const auto at = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
    return waiting.table == table.id() && waiting.key == key;
  });
  std::unique_ptr<Explanation> progress;
  if (at == waiting_.end()) {
    progress = std::make_unique<Explanation>(query);
  } else {
    progress = std::move(at->progress);
    waiting_.erase(at);
  }
  auto explained = explain_(table.index, *progress);
  if (std::holds_alternative<PartsNeeded>(explained)) {
    if (waiting_.size() == waiting_max) waiting_.pop_front();
    waiting_.push_back({std::string(key), table.id(), std::move(progress)});
  }
  return explained;
}

}  // namespace entitable
