// The calls of Store::explain() that wait for parts.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "core/query/explain.h"
#include "core/store/catalog.h"

namespace entitable {

class Explanations {
 public:
  // Continues the explanation with this key, or begins it with `query`. `key`: identifies the query
  // and its table's name.
  std::variant<Explain, PartsNeeded> run(std::string_view key, const Table& table,
                                         const Query& query);

 private:
  // Of more calls at the same time, those that were repeated least recently start again.
  static constexpr std::size_t waiting_max = 64;
  struct Waiting {
    std::string key;
    TableId table;
    std::unique_ptr<Explanation> progress;
  };
  // A pointer, so that the optimiser does not inline the function, which
  // bindings/deferred-functions.json names.
  std::variant<Explain, PartsNeeded> (*explain_)(const TableIndex&, Explanation&) = &explain;
  std::list<Waiting> waiting_;  // the one that was run last comes last
};

}  // namespace entitable
