#include "core/txn/stage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "tests/core/txn/txn_testing.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;
using namespace entitable::test;

namespace {

constexpr TableId table = 7;

// Draws ticks 101, 102, … and counts them.
struct Clock {
  Ticks drawn = 0;
  TimestampSource source() {
    return [this] { return 100 + ++drawn; };
  }
};

using StageOutcome = std::variant<StagedMutations, GroupFailure, PartsNeededToStage>;

StageOutcome outcome_of(const TableIndex& index, const std::vector<Operation>& operations,
                        bool transaction, Clock& clock, ShapeHint shape_hint = 0,
                        StagedMutations memory = {}) {
  const auto reason =
      stage_group(table, index, operations, transaction, clock.source(), shape_hint, memory);
  if (!reason.has_value()) return memory;
  if (const auto* failure = std::get_if<GroupFailure>(&*reason)) return *failure;
  return std::get<PartsNeededToStage>(*reason);
}

StageOutcome stage(const TableIndex& index, const std::vector<Operation>& operations,
                   Clock& clock) {
  const bool transaction = operations.size() > 1;
  REQUIRE_FALSE(check_group(operations, transaction).has_value());
  return outcome_of(index, operations, transaction, clock);
}

StagedMutations staged(const TableIndex& index, const std::vector<Operation>& operations) {
  Clock clock;
  StageOutcome outcome = stage(index, operations, clock);
  REQUIRE(std::holds_alternative<StagedMutations>(outcome));
  return std::get<StagedMutations>(std::move(outcome));
}

Entity stored_entity(const TableIndex& index, const Operation& operation) {
  const std::vector<Operation> operations = {operation};
  const StagedMutations done = staged(index, operations);
  REQUIRE(done.mutations.size() == 1);
  REQUIRE(std::holds_alternative<PutRow>(done.mutations[0]));
  const PutRow& put = std::get<PutRow>(done.mutations[0]);
  return {EntityKey(put.key.partition, put.key.row), put.timestamp,
          owned_properties(put.properties)};
}

void check_failure(const TableIndex& index, const std::vector<Operation>& operations,
                   const Error& error, std::uint32_t failing = 0) {
  Clock clock;
  const StageOutcome outcome = stage(index, operations, clock);
  REQUIRE(std::holds_alternative<GroupFailure>(outcome));
  const GroupFailure& failure = std::get<GroupFailure>(outcome);
  CHECK(failure.error.code == error.code);
  CHECK(error_message(failure.error) == error_message(error));
  CHECK(failure.index == failing);
  CHECK(failure.prefixed == (operations.size() > 1));
  CHECK(clock.drawn == 0);
}

Entity sorted(Entity entity) {
  std::sort(entity.properties.begin(), entity.properties.end(),
            [](const Property& a, const Property& b) { return a.name < b.name; });
  return entity;
}

Property number(std::string name, int value) {
  return {std::move(name), Value::of_int32(value)};
}

constexpr Ticks written = 50;

// One row ("p", "there") with a, b and c.
TableIndex one_row() {
  TableIndex index;
  index.put({EntityKey("p", "there"),
             written,
             {number("a", 1), number("b", 2), {"c", Value::of_string("text")}}});
  return index;
}

const std::vector<OperationKind> conditional = {OperationKind::replace, OperationKind::merge,
                                                OperationKind::remove};
const std::vector<OperationKind> creating = {
    OperationKind::insert, OperationKind::insert_or_replace, OperationKind::insert_or_merge};

}  // namespace

TEST_CASE("insert stores the given properties, and fails the second time") {
  const TableIndex index = one_row();
  const Operation operation = insert("p", "new", {number("x", 1)});
  CHECK(stored_entity(index, operation) ==
        Entity{operation.key, 101, owned_properties(operation.properties)});
  check_failure(index, {insert("p", "there")}, Error(ErrorCode::entity_already_exists));
}

TEST_CASE("operations that need a row fail without it, whatever the condition") {
  const TableIndex index = one_row();
  for (const OperationKind kind : conditional) {
    check_failure(index, {operation(kind, "p", "absent")}, Error(ErrorCode::resource_not_found));
    check_failure(index, {with_etag(operation(kind, "p", "absent"), written)},
                  Error(ErrorCode::resource_not_found));
  }
}

TEST_CASE("a condition must hold") {
  const TableIndex index = one_row();
  for (const OperationKind kind : conditional) {
    const Operation any = operation(kind, "p", "there");
    CHECK(staged(index, {any}).mutations.size() == 1);
    CHECK(staged(index, {with_etag(any, written)}).mutations.size() == 1);
    check_failure(index, {with_etag(any, written + 1)},
                  Error(ErrorCode::update_condition_not_satisfied));
  }
  for (const OperationKind kind : {OperationKind::replace, OperationKind::merge}) {
    Operation none = operation(kind, "p", "there");
    none.if_match = IfMatch();
    CHECK(staged(index, {none}).mutations.size() == 1);
  }
}

TEST_CASE("replace drops properties that are not given") {
  const TableIndex index = one_row();
  for (const OperationKind kind : {OperationKind::replace, OperationKind::insert_or_replace}) {
    const Entity after = stored_entity(index, operation(kind, "p", "there", {number("b", 9)}));
    CHECK(after == Entity{EntityKey("p", "there"), 101, {number("b", 9)}});
    CHECK(stored_entity(index, operation(kind, "p", "there")).properties.empty());
  }
}

TEST_CASE("merge keeps properties that are not given; a type may change") {
  const TableIndex index = one_row();
  for (const OperationKind kind : {OperationKind::merge, OperationKind::insert_or_merge}) {
    const Entity after = stored_entity(
        index, operation(kind, "p", "there", {number("d", 4), {"b", Value::of_double(2.5)}}));
    CHECK(sorted(after) == Entity{EntityKey("p", "there"),
                                  101,
                                  {number("a", 1),
                                   {"b", Value::of_double(2.5)},
                                   {"c", Value::of_string("text")},
                                   number("d", 4)}});
  }
}

TEST_CASE("an upsert of an absent row inserts it") {
  const TableIndex index = one_row();
  for (const OperationKind kind : creating) {
    const Operation upsert = operation(kind, "p", "new", {number("x", 1)});
    CHECK(stored_entity(index, upsert) ==
          Entity{upsert.key, 101, owned_properties(upsert.properties)});
  }
}

TEST_CASE("a write that changes nothing still gets a timestamp") {
  const TableIndex index = one_row();
  const Entity after = stored_entity(index, operation(OperationKind::merge, "p", "there"));
  CHECK(after.timestamp == 101);
  CHECK(after.properties.size() == 3);
}

TEST_CASE("remove is a deletion, and has no timestamp") {
  const StagedMutations done = staged(one_row(), {operation(OperationKind::remove, "p", "there")});
  REQUIRE(done.mutations.size() == 1);
  CHECK(std::get<DeleteRow>(done.mutations[0]) == DeleteRow{table, EntityKey("p", "there")});
  CHECK(done.timestamps == std::vector<Ticks>{0});
}

TEST_CASE("keys are too long where a row may be created, and not found elsewhere") {
  const TableIndex index = one_row();
  const std::string longest(limits::key_units_max, 'k');
  for (const OperationKind kind : creating) {
    CHECK(staged(index, {operation(kind, longest, longest)}).mutations.size() == 1);
    check_failure(index, {operation(kind, longest + "k", "r")},
                  Error(ErrorCode::property_value_too_large));
    check_failure(index, {operation(kind, "p", longest + "k")},
                  Error(ErrorCode::property_value_too_large));
  }
  for (const OperationKind kind : conditional) {
    check_failure(index, {operation(kind, "p", longest + "k")},
                  Error(ErrorCode::resource_not_found));
  }
}

TEST_CASE("forbidden characters have different errors in a body and in an address") {
  const TableIndex index = one_row();
  check_failure(index, {insert("a/b", "r")},
                Error(ErrorCode::out_of_range_input,
                      "The 'PartitionKey' parameter of value 'a/b' is out of range."));
  check_failure(
      index, {insert("p", "#")},
      Error(ErrorCode::out_of_range_input, "The 'RowKey' parameter of value '#' is out of range."));
  const Error bad_syntax(ErrorCode::invalid_input, "Bad Request - Error in query syntax.");
  for (const OperationKind kind :
       {OperationKind::insert_or_replace, OperationKind::insert_or_merge, OperationKind::replace,
        OperationKind::merge, OperationKind::remove}) {
    check_failure(index, {operation(kind, "a/b", "r")}, bad_syntax);
    check_failure(index, {operation(kind, "p", "a\\b")}, bad_syntax);
    for (const char* row : {"#", "?", "\t", "\x7F", "\xC2\x85"}) {
      check_failure(index, {operation(kind, "p", row)}, Error(ErrorCode::out_of_range_input));
    }
  }
}

TEST_CASE("an entity may be stored up to 1 MiB") {
  const TableIndex index = one_row();
  const auto of_bytes = [](std::size_t bytes) {
    return insert("p", "r", properties_of_bytes(bytes));
  };
  CHECK(staged(index, {of_bytes(limits::entity_bytes_max)}).mutations.size() == 1);
  check_failure(index, {of_bytes(limits::entity_bytes_max + 1)},
                Error(ErrorCode::entity_too_large));
}

TEST_CASE("limits apply to the merged entity") {
  TableIndex index;
  index.put({EntityKey("p", "r"), written, properties_of_bytes(limits::entity_bytes_max - 25)});
  std::vector<Property> many;
  for (int i = 0; i < 252; ++i) many.push_back(number("n" + std::to_string(i), i));
  index.put({EntityKey("p", "m"), written, many});

  // 8 + 2 * 6 + 4 bytes, and one byte more.
  CHECK(staged(index, {operation(OperationKind::merge, "p", "r", {number("sixsix", 1)})})
            .mutations.size() == 1);
  const Property too_much{"sixsix", Value::of_binary("xx")};
  check_failure(index, {operation(OperationKind::merge, "p", "r", {too_much})},
                Error(ErrorCode::entity_too_large));
  check_failure(index, {operation(OperationKind::insert_or_merge, "p", "r", {too_much})},
                Error(ErrorCode::entity_too_large));
  CHECK(staged(index, {operation(OperationKind::replace, "p", "r", {too_much})}).mutations.size() ==
        1);

  CHECK(staged(index, {operation(OperationKind::merge, "p", "m", {number("n7", 0)})})
            .mutations.size() == 1);
  const Operation one_more = operation(OperationKind::merge, "p", "m", {number("more", 0)});
  check_failure(index, {insert("p", "x"), one_more}, Error(ErrorCode::too_many_properties), 1);
}

TEST_CASE("checks have the order of the service") {
  TableIndex index = one_row();
  const std::vector<Property> too_large = properties_of_bytes(limits::entity_bytes_max + 100);
  // Existence and condition are checked before the size.
  check_failure(index, {insert("p", "there", too_large)}, Error(ErrorCode::entity_already_exists));
  check_failure(index, {operation(OperationKind::replace, "p", "absent", too_large)},
                Error(ErrorCode::resource_not_found));
  check_failure(index, {with_etag(operation(OperationKind::merge, "p", "there", too_large), 1)},
                Error(ErrorCode::update_condition_not_satisfied));
  // The key is checked before the size.
  check_failure(index, {insert("p", "a/b", too_large)},
                Error(ErrorCode::out_of_range_input,
                      "The 'RowKey' parameter of value 'a/b' is out of range."));
}

TEST_CASE("a group is staged completely, in order, with rising timestamps") {
  const std::vector<Operation> operations = {
      insert("p", "1"), operation(OperationKind::remove, "p", "there"),
      operation(OperationKind::insert_or_merge, "p", "2"), insert("p", "3")};
  const StagedMutations done = staged(one_row(), operations);
  CHECK(done.timestamps == std::vector<Ticks>{101, 0, 102, 103});
  REQUIRE(done.mutations.size() == 4);
  CHECK(std::get<PutRow>(done.mutations[0]) == PutRow{table, {"p", "1"}, 101, {}});
  CHECK(std::holds_alternative<DeleteRow>(done.mutations[1]));
  CHECK(std::get<PutRow>(done.mutations[2]).timestamp == 102);
  CHECK(std::get<PutRow>(done.mutations[3]).timestamp == 103);
}

TEST_CASE("a put says whether it inserts a row or replaces one, if that is known") {
  const std::vector<Operation> operations = {
      insert("p", "1"), operation(OperationKind::insert_or_merge, "p", "2"),
      operation(OperationKind::insert_or_replace, "p", "there")};
  const StagedMutations done = staged(one_row(), operations);
  CHECK(std::get<PutRow>(done.mutations[0]).effect == PutEffect::insert);
  CHECK(std::get<PutRow>(done.mutations[1]).effect == PutEffect::insert);
  CHECK(std::get<PutRow>(done.mutations[2]).effect == PutEffect::update);

  TableIndex unloaded;
  unloaded.add_unloaded(KeyRange{}, 7, 1, 100);
  StagedMutations blind;
  const std::vector<Operation> upsert = {operation(OperationKind::insert_or_replace, "p", "1")};
  REQUIRE_FALSE(
      stage_group(
          table, unloaded, upsert, false, [] { return Ticks{101}; }, 0, blind, UpsertNeeds::nothing)
          .has_value());
  CHECK(std::get<PutRow>(blind.mutations[0]).effect == PutEffect::unknown);
}

TEST_CASE("same_shape_as_previous is only kept between rows stored as given") {
  const auto with_same_shape = [](OperationKind kind, const char* row) {
    Operation made = operation(kind, "p", row);
    made.same_shape_as_previous = true;
    return made;
  };
  const std::vector<Operation> operations = {
      insert("p", "1"),
      with_same_shape(OperationKind::insert, "2"),
      with_same_shape(OperationKind::insert_or_merge, "there"),  // the row keeps other properties
      with_same_shape(OperationKind::insert, "3"),
      with_same_shape(OperationKind::remove, "4"),
      with_same_shape(OperationKind::insert, "5"),
      with_same_shape(OperationKind::insert_or_merge, "6")};
  TableIndex index = one_row();
  index.put({EntityKey("p", "4"), written, {}});
  const StagedMutations done = staged(index, operations);
  std::vector<bool> found;
  for (const Mutation& mutation : done.mutations) {
    const auto* put = std::get_if<PutRow>(&mutation);
    found.push_back(put != nullptr && put->same_shape_as_previous);
  }
  CHECK(found == std::vector<bool>{false, true, false, false, false, false, true});
}

TEST_CASE("a group fails at its first bad operation and draws no timestamp") {
  check_failure(
      one_row(),
      {insert("p", "1"), insert("p", "there"), operation(OperationKind::remove, "p", "absent")},
      Error(ErrorCode::entity_already_exists), 1);
  check_failure(
      one_row(),
      {insert("p", "1"), operation(OperationKind::remove, "p", "absent"), insert("p", "there")},
      Error(ErrorCode::resource_not_found), 1);
}

TEST_CASE("the only operation of a transaction is prefixed as the service does") {
  Clock clock;
  const TableIndex index = one_row();
  const auto prefixed = [&](const Operation& operation) {
    const StageOutcome outcome = outcome_of(index, {operation}, true, clock);
    return std::get<GroupFailure>(outcome).prefixed;
  };
  CHECK_FALSE(prefixed(insert("p", "there")));
  CHECK_FALSE(prefixed(operation(OperationKind::remove, "p", "absent")));
  CHECK_FALSE(prefixed(with_etag(operation(OperationKind::merge, "p", "there"), 1)));
  CHECK(prefixed(insert("p", "a/b")));
}

TEST_CASE("reusing StagedMutations leaves nothing of the earlier group") {
  TableIndex index = one_row();
  index.put({EntityKey("p", "too"), written, {number("a", 3), number("d", 4)}});
  const auto merge_of = [](std::string_view row) {
    return operation(OperationKind::merge, "p", row, {number("b", 7)});
  };
  const std::vector<std::vector<Operation>> groups = {{merge_of("there"), merge_of("too")},
                                                      {merge_of("too")},
                                                      {insert("p", "new")},
                                                      {merge_of("there")},
                                                      {insert("p", "a"), merge_of("too")}};
  StagedMutations memory;
  for (const std::vector<Operation>& group : groups) {
    Clock clock;
    StageOutcome outcome = outcome_of(index, group, group.size() > 1, clock, 0, std::move(memory));
    REQUIRE(std::holds_alternative<StagedMutations>(outcome));
    memory = std::get<StagedMutations>(std::move(outcome));
    const StagedMutations fresh = staged(index, group);
    CHECK(memory.mutations == fresh.mutations);
    CHECK(memory.timestamps == fresh.timestamps);
  }
}

TEST_CASE("the shape hint is for a row stored as given, or merged alone") {
  const TableIndex index = one_row();
  constexpr ShapeHint known = 17;
  const auto shape_hints_of = [&](const std::vector<Operation>& group) {
    Clock clock;
    const StageOutcome outcome = outcome_of(index, group, group.size() > 1, clock, known);
    std::vector<ShapeHint> shape_hint;
    for (const Mutation& mutation : std::get<StagedMutations>(outcome).mutations) {
      shape_hint.push_back(std::get<PutRow>(mutation).shape_hint);
    }
    return shape_hint;
  };
  CHECK(shape_hints_of({insert("p", "new")}) == std::vector<ShapeHint>{known});
  const auto merge = [](const Property& property) {
    return operation(OperationKind::merge, "p", "there", {property});
  };
  // A merge gets the hint of the merged row's names and types, or 0 if this list is new.
  const ShapeHint of_row = index.schema().shape_hint_of(
      property_views(stored_entity(index, merge(number("a", 2))).properties));
  CHECK(of_row != 0);
  CHECK(shape_hints_of({merge(number("a", 2))}) == std::vector<ShapeHint>{of_row});
  CHECK(shape_hints_of({merge(number("new", 2))}) == std::vector<ShapeHint>{0});
  CHECK(shape_hints_of({merge(number("a", 2)), insert("p", "b")}) == std::vector<ShapeHint>{0, 0});
  CHECK(shape_hints_of({insert("p", "a"), insert("p", "b")}) == std::vector<ShapeHint>{known, 0});
}

TEST_CASE("staging changes nothing") {
  const TableIndex index = one_row();
  staged(index, {insert("p", "1"), operation(OperationKind::remove, "p", "there")});
  CHECK(index.row_count() == 1);
  CHECK(index.find({"p", "there"}).row->timestamp() == written);
}

TEST_CASE("all missing parts are requested at once") {
  TableIndex index;
  const auto row = [](const char* key) { return Entity{EntityKey("p", key), written, {}}; };
  index.add_unloaded({EntityKey("p", "a"), EntityKey("p", "b")}, 5, 1, 10);
  index.add_unloaded({EntityKey("p", "b"), EntityKey("p", "c")}, 3, 2, 20);
  Clock clock;
  const std::vector<Operation> operations = {insert("p", "b0"),
                                             operation(OperationKind::merge, "p", "a1"),
                                             insert("p", "b3"), insert("p", "z")};
  StageOutcome outcome = stage(index, operations, clock);
  REQUIRE(std::holds_alternative<PartsNeededToStage>(outcome));
  CHECK(std::get<PartsNeededToStage>(outcome).ids == std::vector<PartId>{3, 5});
  CHECK(clock.drawn == 0);
  index.load_part(3, {row("b1"), row("b2")});
  outcome = stage(index, operations, clock);
  CHECK(std::get<PartsNeededToStage>(outcome).ids == std::vector<PartId>{5});
  index.load_part(5, {row("a1")});
  outcome = stage(index, operations, clock);
  CHECK(std::holds_alternative<StagedMutations>(outcome));
}

// ---- Random groups against a reference ----

namespace {

using Model = std::map<std::string, Entity>;  // by row key, one partition

struct Expected {
  std::optional<ErrorCode> failure;
  std::uint32_t index = 0;
  Model after;
};

Expected apply_slowly(Model rows, const std::vector<Operation>& operations, Ticks first_tick) {
  const Model before = rows;
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const Operation& one = operations[i];
    const auto at = rows.find(one.key.row);
    const bool there = at != rows.end();
    const bool must_exist = one.kind == OperationKind::replace ||
                            one.kind == OperationKind::merge || one.kind == OperationKind::remove;
    if (one.kind == OperationKind::insert && there) {
      return {ErrorCode::entity_already_exists, i, before};
    }
    if (must_exist && !there) return {ErrorCode::resource_not_found, i, before};
    if (must_exist && !one.if_match.matches(at->second.timestamp)) {
      return {ErrorCode::update_condition_not_satisfied, i, before};
    }
    if (one.kind == OperationKind::remove) {
      rows.erase(at);
      continue;
    }
    Entity entity{one.key, first_tick++, owned_properties(one.properties)};
    const bool merges =
        one.kind == OperationKind::merge || one.kind == OperationKind::insert_or_merge;
    if (merges && there) {
      for (const Property& old : at->second.properties) {
        if (entity.find_property(old.name) == nullptr) entity.properties.push_back(old);
      }
    }
    rows.insert_or_assign(one.key.row, std::move(entity));
  }
  return {std::nullopt, 0, rows};
}

std::vector<Operation> random_group(Prng& prng, const Model& rows) {
  std::vector<Operation> operations;
  std::set<std::string> used;
  for (std::uint64_t i = 1 + prng.below(5); i > 0; --i) {
    std::string row = "r" + std::to_string(prng.below(8));
    if (!used.insert(row).second) continue;
    const auto kind = static_cast<OperationKind>(prng.below(6));
    Operation made = operation(kind, "p", row);
    if (kind != OperationKind::remove) made.properties = random_properties(prng, 4);
    const auto at = rows.find(row);
    if (made.if_match.has_condition() && prng.chance(2)) {
      const Ticks stored_timestamp = at == rows.end() || prng.chance(5) ? 1 : at->second.timestamp;
      made = with_etag(std::move(made), stored_timestamp);
    }
    operations.push_back(std::move(made));
  }
  return operations;
}

void apply(TableIndex& index, const StagedMutations& done) {
  for (const Mutation& mutation : done.mutations) {
    if (const auto* put = std::get_if<PutRow>(&mutation)) {
      index.put(put->key, put->timestamp, put->properties);
    } else {
      REQUIRE(index.erase(std::get<DeleteRow>(mutation).key.view()));
    }
  }
}

}  // namespace

TEST_CASE("random groups agree with the reference") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    TableIndex index;
    Model rows;
    Clock clock;
    for (int step = 0; step < 40; ++step) {
      const std::vector<Operation> operations = random_group(prng, rows);
      const bool transaction = operations.size() > 1 || prng.chance(2);
      const Expected expected = apply_slowly(rows, operations, 100 + clock.drawn + 1);
      const StageOutcome outcome = outcome_of(index, operations, transaction, clock);
      if (expected.failure.has_value()) {
        const auto* failure = std::get_if<GroupFailure>(&outcome);
        REQUIRE(failure != nullptr);
        REQUIRE(failure->error.code == *expected.failure);
        REQUIRE(failure->index == expected.index);
        continue;
      }
      const auto* done = std::get_if<StagedMutations>(&outcome);
      REQUIRE(done != nullptr);
      REQUIRE(done->timestamps.size() == operations.size());
      apply(index, *done);
      rows = expected.after;
      REQUIRE(index.row_count() == rows.size());
      for (const auto& [row, entity] : rows) {
        const TableIndex::Found found = index.find(entity.key.view());
        REQUIRE(found.row.has_value());
        REQUIRE(sorted(found.row->materialize()) == sorted(entity));
      }
    }
  }
}
