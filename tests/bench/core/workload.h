// What every benchmark of the core works on: the entities, the messages in which they cross, and
// stores that are full of them. The same data on every machine and in every run.
//
// Entity i has 12 properties with its keys, about 190 bytes packed; a thousand entities are a
// partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/part_codec.h"
#include "core/model/entity.h"
#include "core/rest/account_settings.h"
#include "core/rest/http.h"
#include "core/store/store.h"

namespace entitable::bench {

inline constexpr std::string_view table = "rows";
inline constexpr std::size_t partition_rows = 1000;
inline constexpr std::size_t group_rows = 100;
inline constexpr Ticks noon = 638'000'000'000'000'000;

// ---- Entities -----------------------------------------------------------------------------------

EntityKey key(std::size_t i);
Entity entity(std::size_t i);  // with a timestamp
// A key beside that of entity i, which no entity has.
EntityKey new_key(std::size_t i);
std::vector<PropertyView> views(const std::vector<Property>& properties);

// 0 .. count - 1, in an order of no pattern.
std::vector<std::size_t> shuffled(std::size_t count);

// Keys of the first `rows` entities in such an order; of very many only some, which no cache holds.
std::vector<EntityKey> random_keys(std::size_t rows);

// An int and a text are compared.
inline constexpr std::string_view filter_one_percent = "count lt 100 and city eq 'city number 7'";
inline constexpr std::string_view filter_nothing = "count lt 100 and city eq 'nowhere'";
Filter parsed(std::string_view filter);

// ---- Writes -------------------------------------------------------------------------------------

Operation insert_operation(const EntityKey& key, std::size_t i);  // with the values of entity i
std::vector<Operation> insert_group(std::size_t first);  // of entities first, first + 1, …
WriteRequest group_request(std::vector<Operation> operations);

// Encode RPC request messages (core/rpc/LAYOUT.md).
std::string write_message(const std::vector<Operation>& operations);
std::string get_message(const EntityKey& key);
std::string query_message(std::string_view filter, std::uint32_t top,
                          const KeyView* from = nullptr);

// A REST request as the official client sends it, and its message (core/rest/http_codec.h).
struct RestRequest {
  std::string method;
  std::string url;
  std::string body;
  std::string content_type = "application/json";
  rest::Request request() const;  // looks into this
  std::string message() const;
};
RestRequest rest_get(const EntityKey& key);
RestRequest rest_insert(const EntityKey& key, std::size_t i);
RestRequest rest_batch(std::size_t first);  // inserts of entities first, first + 1, … as a group
RestRequest rest_query(std::string_view filter, std::uint32_t top);

// ---- Stores -------------------------------------------------------------------------------------

// Opened, with the table and no row.
Store new_store();
// Stages, publishes, seals and says that it is stored. Gives the segment.
std::string commit(Store& store, const std::vector<WriteRequest>& requests);
Store filled_store(std::size_t rows);  // REQUIRES: whole groups
// Returns the shared store of that size, created on first use. Callers undo their writes.
Store& shared_store(std::size_t rows);

// A store's files.
struct Files {
  std::string manifest;
  std::vector<CheckpointPart> parts;
};
Files checkpoint(Store& store);

}  // namespace entitable::bench
