// The service's limits, with units. They are enforced at the entry points, and tests check both
// sides of each limit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace entitable::limits {

// Tables
inline constexpr std::size_t table_name_units_min = 3;
inline constexpr std::size_t table_name_units_max = 63;

// Keys: the service documents "up to 1 KiB", which is two bytes per UTF-16 unit
inline constexpr std::size_t key_units_max = 512;

// Properties
inline constexpr std::size_t custom_properties_max =
    252;  // 255 with PartitionKey, RowKey, Timestamp
inline constexpr std::size_t property_name_units_max = 255;
inline constexpr std::size_t string_units_max = 32'768;  // 64 KiB of UTF-16
inline constexpr std::size_t binary_bytes_max = 65'536;

// Entities, by the documented size formula (entity.h)
inline constexpr std::size_t entity_bytes_max = 1'048'576;

// Transactions
inline constexpr std::size_t group_operations_max = 100;
inline constexpr std::size_t group_bytes_max = 4 * 1'048'576;
inline constexpr std::size_t request_bytes_max = 4 * 1'048'576;

// Pages
inline constexpr std::size_t page_rows_max = 1000;
// How many rows a live query tests before it answers, about. Reading on takes further calls.
inline constexpr std::uint64_t watch_rows_tested_max = 20'000;
// Our own limit on the packed bytes of a page's rows (the service stops after five seconds
// instead). The row that reaches the limit is the last of the page. The limit keeps copies of a
// page within memory, and its text within the size of one string.
inline constexpr std::size_t page_bytes_max = 64 * 1'048'576;

// Filters: our own limits, to protect the parser. The service documents 15 comparisons but does not
// enforce that number.
inline constexpr std::size_t filter_bytes_max = 65'536;
inline constexpr std::size_t filter_depth_max = 500;
inline constexpr std::size_t filter_comparisons_documented = 15;

// Stored access policies
inline constexpr std::size_t access_policies_max = 5;
inline constexpr std::size_t access_policy_id_units_max = 64;

// DateTime: 1601-01-01T00:00:00Z .. 9999-12-31T23:59:59.9999999Z, in ticks (date_time.h)
inline constexpr std::int64_t date_time_ticks_min = 504'911'232'000'000'000;
inline constexpr std::int64_t date_time_ticks_max = 3'155'378'975'999'999'999;

static_assert(string_units_max * 2 == binary_bytes_max);
static_assert(binary_bytes_max < entity_bytes_max && entity_bytes_max < group_bytes_max);

}  // namespace entitable::limits
