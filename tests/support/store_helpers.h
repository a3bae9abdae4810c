// Short helpers for tests of the store: single steps and their results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/filter/parser.h"
#include "core/store/store.h"
#include "tests/support/catch.h"
#include "tests/support/write_requests.h"

namespace entitable::test {

inline ErrorCode code_of(const WriteResult& answer) {
  REQUIRE(std::holds_alternative<GroupFailure>(answer));
  return std::get<GroupFailure>(answer).error.code;
}

// Stages and publishes the requests, without storing them. Every request must succeed.
inline void publish(Store& store, const std::vector<WriteRequest>& requests, Ticks now = noon) {
  const StageResult staged = store.stage(requests, now);
  REQUIRE(staged.results.size() == requests.size());
  for (const WriteResult& answer : staged.results) REQUIRE(succeeded(answer));
  store.publish();
}

// Returns all rows of a table as "row=value row=value …", in key order.
inline std::string rows_of(const Store& store, std::string_view table) {
  Query query;
  std::string text;
  do {
    const auto answer = store.query(table, query);
    const auto* page = std::get_if<Page>(&answer);
    if (page == nullptr) return "no table";
    for (const RowView& row : page->rows) {
      const auto value = row.find("value");
      text += (text.empty() ? "" : " ") + std::string(row.row_key()) + "=" +
              (value.has_value() ? std::to_string(value->int32()) : "?");
    }
    query.from = page->next;
  } while (query.from.has_value());
  return text;
}

inline Store new_store() {
  Store store;
  REQUIRE(store.begin_recovery(std::nullopt).ok());
  store.finish_recovery();
  return store;
}

}  // namespace entitable::test
