#include "core/store/outbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"

namespace entitable {
namespace {

const PropertyView* find_property(std::span<const PropertyView> list, std::string_view name) {
  const auto at = std::find_if(list.begin(), list.end(),
                               [&](const PropertyView& property) { return property.name == name; });
  return at == list.end() ? nullptr : &*at;
}

// Returns the property of `list` with this name. Most lists that are compared have the same names
// in the same order, so `position` is tried first.
const PropertyView* find_property_near(std::span<const PropertyView> list, std::string_view name,
                                       std::size_t position) {
  if (position < list.size() && list[position].name == name) return &list[position];
  return find_property(list, name);
}

std::string number_text(std::uint64_t number) {
  constexpr std::size_t digits = 16;
  std::string text = std::to_string(number);
  return text.insert(0, digits - text.size(), '0');
}

PropertyView kind_property(std::uint8_t kind) {
  return {"Kind", ValueView::of_int32(kind)};
}

}  // namespace

std::optional<PartsNeeded> Outbox::add_operations(const LocalWrite& write,
                                                  StagedMutations& staged) {
  begin(write);
  const Table* const base = write.base == nullptr ? nullptr : write.base->find(write.table.id());
  for (const Mutation& mutation : staged.mutations) {
    const KeyView key = key_of(mutation);
    const TableIndex::Found before =
        write.table.index.find_for_update(key, base == nullptr ? nullptr : &base->index);
    ENTITABLE_CHECK(before.part_needed == 0);
    add_base(key, before.row);
    add_operation(
        key, before.row.has_value() ? properties_of(*before.row) : std::span<const PropertyView>(),
        before.row.has_value(), std::get_if<PutRow>(&mutation));
  }
  if (!parts_needed_.empty()) return PartsNeeded{std::move(parts_needed_)};
  staged.mutations.insert(staged.mutations.begin(), std::make_move_iterator(mutations_.begin()),
                          std::make_move_iterator(mutations_.end()));
  return std::nullopt;
}

void Outbox::begin(const LocalWrite& write) {
  write_ = &write;
  next_number_ = write.commit * operations_per_commit;
  parts_needed_.clear();
  mutations_.clear();
  texts_.clear();
  lists_ = PropertyViewArena();
}

// Returns the key of the row that a write of entities changes. That of a delete is copied, because
// mutations will move.
KeyView Outbox::key_of(const Mutation& mutation) {
  if (const auto* put = std::get_if<PutRow>(&mutation)) return put->key;
  const EntityKey& key = std::get<DeleteRow>(mutation).key;
  return {keep(key.partition), keep(key.row)};
}

// Keeps the row as the Base if the key has none, that is, if it is clean.
void Outbox::add_base(const KeyView& key, const std::optional<RowView>& before) {
  if (find(HiddenTable::bases, key).has_value()) return;
  const std::span<PropertyView> properties = lists_.allocate_list(2);
  const BaseKind kind = before.has_value() ? BaseKind::row : BaseKind::absent;
  properties[0] = kind_property(static_cast<std::uint8_t>(kind));
  const std::optional<std::string_view> etag = take_etag(key);
  if (etag.has_value()) properties[1] = {"Etag", ValueView::of_string(*etag)};
  put(HiddenTable::bases, key, write_->timestamp, properties.first(etag.has_value() ? 2 : 1));
  if (before.has_value())
    put(HiddenTable::base_rows, key, before->timestamp(), properties_of(*before));
}

// Returns the ETag of a clean row if it does not follow from the Timestamp, and removes it.
std::optional<std::string_view> Outbox::take_etag(const KeyView& key) {
  const std::optional<RowView> row = find(HiddenTable::etags, key);
  if (!row.has_value()) return std::nullopt;
  mutations_.emplace_back(DeleteRow{hidden_table_of(write_->table.id(), HiddenTable::etags),
                                    EntityKey(key.partition, key.row)});
  const PropertyView* const etag = find_property(properties_of(*row), "Etag");
  if (etag == nullptr || etag->value.type() != EdmType::string) return std::nullopt;
  return keep(std::string(etag->value.string()));
}

// Records the difference between the row before the write and the row after it. A write without a
// difference is an operation, too: the row has a new Timestamp, and is no longer clean.
void Outbox::add_operation(const KeyView& key, std::span<const PropertyView> before, bool existed,
                           const PutRow* after) {
  const std::string_view number = keep(number_text(next_number_++));
  const OutboxOperation kind = after == nullptr ? OutboxOperation::remove
                               : existed        ? OutboxOperation::edit
                                                : OutboxOperation::create;
  const std::span<PropertyView> operation = lists_.allocate_list(2);
  operation[0] = {"Key", ValueView::of_string(key.row)};
  operation[1] = kind_property(static_cast<std::uint8_t>(kind));
  put(HiddenTable::outbox, {key.partition, number}, write_->timestamp, operation);
  if (after == nullptr) return;
  const std::span<PropertyView> set = lists_.allocate_list(after->properties.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < after->properties.size(); ++i) {
    const PropertyView& property = after->properties[i];
    const PropertyView* const earlier = find_property_near(before, property.name, i);
    if (earlier == nullptr || !(earlier->value == property.value)) set[count++] = property;
  }
  add_set(key.partition, number, set.first(count));
  const std::span<PropertyView> unset = lists_.allocate_list(before.size());
  count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (find_property_near(after->properties, before[i].name, i) == nullptr)
      unset[count++] = {before[i].name, ValueView::of_boolean(true)};
  }
  if (count == 0) return;
  put(HiddenTable::outbox, {key.partition, keep(std::string(number) + "u")}, write_->timestamp,
      unset.first(count));
}

void Outbox::add_set(std::string_view partition, std::string_view number,
                     std::span<const PropertyView> set) {
  for (std::size_t row = 0; !set.empty(); ++row) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < set.size() && bytes < row_bytes_max; ++count) {
      bytes += value_size(set[count].value);
    }
    put(HiddenTable::outbox, {partition, keep(std::string(number) + "s" + std::to_string(row))},
        write_->timestamp, set.first(count));
    set = set.subspan(count);
  }
}

// Finds a hidden row. Notes the part that is needed, if its part is not in memory.
std::optional<RowView> Outbox::find(HiddenTable kind, const KeyView& key) {
  const TableIndex::Found found = find_hidden(kind, key);
  if (found.part_needed != 0) parts_needed_.push_back(found.part_needed);
  return found.row;
}

TableIndex::Found Outbox::find_hidden(HiddenTable kind, const KeyView& key) const {
  const TableId owner = write_->table.id();
  const Table* const table = write_->catalog.find_hidden(owner, kind);
  if (table == nullptr) return {};
  const Table* const base =
      write_->base == nullptr ? nullptr : write_->base->find_hidden(owner, kind);
  return table->index.find_for_update(key, base == nullptr ? nullptr : &base->index);
}

// Puts a row that is not there. Notes its part if the part is not in memory and has a full overlay:
// a write copies the overlay, so without this bound, writes would become slower and slower.
void Outbox::put(HiddenTable kind, const KeyView& key, Ticks timestamp,
                 std::span<const PropertyView> properties) {
  const TableIndex::Found found = find_hidden(kind, key);
  if (found.needs_part_for_any_change) parts_needed_.push_back(found.part_needed);
  mutations_.emplace_back(PutRow{hidden_table_of(write_->table.id(), kind),
                                 key,
                                 timestamp,
                                 properties,
                                 false,
                                 0,
                                 {},
                                 PutEffect::insert});
}

std::span<const PropertyView> Outbox::properties_of(const RowView& row) {
  properties_.clear();
  row.for_each_property([&](std::string_view name, const ValueView& value) {
    properties_.push_back({name, value});
  });
  return lists_.copy_list(properties_);
}

}  // namespace entitable
