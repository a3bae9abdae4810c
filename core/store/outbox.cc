#include "core/store/outbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/model/limits.h"

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

std::array<char, Outbox::number_digits> number_text(std::uint64_t number) {
  std::array<char, Outbox::number_digits> text;
  for (std::size_t i = text.size(); i-- > 0; number /= 10)
    text[i] = static_cast<char>('0' + number % 10);
  return text;
}

// The names of the properties that say what a hidden row means. An entity may have properties with
// these names: the row then does not have them.
constexpr std::string_view kind_name = "_Kind";
constexpr std::string_view etag_name = "_Etag";
constexpr std::string_view key_name = "_Key";
constexpr std::array own_names = {kind_name, etag_name, key_name, std::string_view("_Group"),
                                  std::string_view("_Resent")};

bool is_own_name(std::string_view name) {
  return name.front() == '_' &&
         std::find(own_names.begin(), own_names.end(), name) != own_names.end();
}

PropertyView kind_property(std::uint8_t kind) {
  return {kind_name, ValueView::of_int32(kind)};
}

// Returns whether a hidden row can have these properties, and its own.
bool fits_beside_own(std::span<const PropertyView> properties) {
  return properties.size() <= limits::custom_properties_max - own_names.size() &&
         std::none_of(properties.begin(), properties.end(),
                      [](const PropertyView& property) { return is_own_name(property.name); });
}

}  // namespace

std::optional<OutboxWriter::Failure> Outbox::add_operations(const LocalWrite& write,
                                                            StagedMutations& staged) {
  begin(write, staged.mutations.size());
  const Table* const base = write.base == nullptr ? nullptr : write.base->find(write.table.id());
  for (std::size_t i = 0; i < staged.mutations.size(); ++i) {
    const Mutation& mutation = staged.mutations[i];
    const KeyView key = key_of(mutation);
    const TableIndex::Found before =
        write.table.index.find_for_update(key, base == nullptr ? nullptr : &base->index);
    ENTITABLE_CHECK(before.part_needed == 0);
    const std::span<const PropertyView> properties =
        before.row.has_value() ? properties_of(*before.row) : std::span<const PropertyView>();
    add_base(key, before.row, properties);
    add_operation(key, i, properties, before.row.has_value(), std::get_if<PutRow>(&mutation));
  }
  if (!parts_needed_.empty()) return PartsNeeded{std::move(parts_needed_)};
  if (auto failed = check_limits()) return failed;
  std::move(staged.mutations.begin(), staged.mutations.end(), std::back_inserter(mutations_));
  std::swap(staged.mutations, mutations_);
  return std::nullopt;
}

void Outbox::begin(const LocalWrite& write, std::size_t operations) {
  write_ = &write;
  numbers_.resize(operations);
  to_push_.clear();
  parts_needed_.clear();
  mutations_.clear();
  texts_.clear();
  lists_.clear();
}

// Returns the key of the row that a write of entities changes. That of a delete is copied, because
// mutations will move.
KeyView Outbox::key_of(const Mutation& mutation) {
  if (const auto* put = std::get_if<PutRow>(&mutation)) return put->key;
  const EntityKey& key = std::get<DeleteRow>(mutation).key;
  return {keep(key.partition), keep(key.row)};
}

// Keeps the row as the Base if the key has none, that is, if it is clean.
void Outbox::add_base(const KeyView& key, const std::optional<RowView>& before,
                      std::span<const PropertyView> properties) {
  const TableIndex::Found found = find_hidden(HiddenTable::bases, key);
  note_part_if(found.part_needed != 0, found);
  if (found.row.has_value()) return;
  const bool is_apart = before.has_value() &&
                        (before->packed_bytes() > base_bytes_max || !fits_beside_own(properties));
  const BaseKind kind = !before.has_value() ? BaseKind::absent
                        : is_apart          ? BaseKind::row_apart
                                            : BaseKind::row;
  const std::span<PropertyView> base = lists_.allocate_list(2 + properties.size());
  std::size_t count = 0;
  base[count++] = kind_property(static_cast<std::uint8_t>(kind));
  if (const std::optional<std::string_view> etag = take_etag(key))
    base[count++] = {etag_name, ValueView::of_string(*etag)};
  if (kind == BaseKind::row)
    count = std::copy(properties.begin(), properties.end(), base.begin() + count) - base.begin();
  const Ticks timestamp = before.has_value() ? before->timestamp() : write_->timestamp;
  put(HiddenTable::bases, key, timestamp, base.first(count), found);
  if (is_apart) put(HiddenTable::base_rows, key, timestamp, properties);
}

// Returns the ETag of a clean row if it does not follow from the Timestamp, and removes it.
std::optional<std::string_view> Outbox::take_etag(const KeyView& key) {
  const TableIndex::Found found = find_hidden(HiddenTable::etags, key);
  note_part_if(found.part_needed != 0, found);
  if (!found.row.has_value()) return std::nullopt;
  mutations_.emplace_back(DeleteRow{hidden_table_of(write_->table.id(), HiddenTable::etags),
                                    EntityKey(key.partition, key.row)});
  const PropertyView* const etag = find_property(properties_of(*found.row), etag_name);
  if (etag == nullptr || etag->value.type() != EdmType::string) return std::nullopt;
  return keep(std::string(etag->value.string()));
}

// Records the difference between the row before the write and the row after it. A write without a
// difference is an operation, too: the row has a new Timestamp, and is no longer clean.
void Outbox::add_operation(const KeyView& key, std::size_t position,
                           std::span<const PropertyView> before, bool existed,
                           const PutRow* after) {
  numbers_[position] = number_text(write_->commit * operations_per_commit + position);
  const std::string_view number(numbers_[position].data(), number_digits);
  const OutboxOperation kind = after == nullptr ? OutboxOperation::remove
                               : existed        ? OutboxOperation::edit
                                                : OutboxOperation::create;
  const std::size_t most = after == nullptr ? 0 : after->properties.size();
  const std::span<PropertyView> operation = lists_.allocate_list(2 + most);
  operation[0] = {key_name, ValueView::of_string(key.row)};
  operation[1] = kind_property(static_cast<std::uint8_t>(kind));
  const std::span<PropertyView> set = operation.subspan(2);
  std::size_t count = 0;
  for (std::size_t i = 0; i < most; ++i) {
    const PropertyView& property = after->properties[i];
    const PropertyView* const earlier = find_property_near(before, property.name, i);
    if (earlier == nullptr || !(earlier->value == property.value)) set[count++] = property;
  }
  const std::size_t beside = count_beside_own(set.first(count));
  put(HiddenTable::outbox, {key.partition, number}, write_->timestamp, operation.first(2 + beside));
  if (beside < count) add_set(key.partition, number, set.first(count).subspan(beside));
  const bool unsets =
      existed && after != nullptr && add_unset(key.partition, number, before, after->properties);
  to_push_.push_back({key, after, set.first(count), !existed || unsets});
}

// Returns how many of the properties, from the first on, are in the row of the operation.
std::size_t Outbox::count_beside_own(std::span<const PropertyView> set) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < set.size() && bytes < row_bytes_max; ++count) {
    if (count == limits::custom_properties_max - own_names.size() || is_own_name(set[count].name))
      break;
    bytes += value_size(set[count].value);
  }
  return count;
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

// Returns whether the write removes a property.
bool Outbox::add_unset(std::string_view partition, std::string_view number,
                       std::span<const PropertyView> before, std::span<const PropertyView> after) {
  std::span<PropertyView> unset;
  std::size_t count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (find_property_near(after, before[i].name, i) != nullptr) continue;
    if (unset.empty()) unset = lists_.allocate_list(before.size());
    unset[count++] = {before[i].name, ValueView::of_boolean(true)};
  }
  if (count == 0) return false;
  put(HiddenTable::outbox, {partition, keep(std::string(number) + "u")}, write_->timestamp,
      unset.first(count));
  return true;
}

// The remote is looked up only if the write exceeds a limit, because most writes do not.
std::optional<OutboxWriter::Failure> Outbox::check_limits() const {
  auto failed = check_cosmos_limits(to_push_, write_->transaction);
  if (!failed.has_value()) return std::nullopt;
  const TableIndex::Found remote = find_hidden(HiddenTable::state, remote_service_key);
  if (remote.part_needed != 0) return PartsNeeded{{remote.part_needed}};
  if (!remote.row.has_value() || !is_cosmos_db(*remote.row)) return std::nullopt;
  return std::move(*failed);
}

TableIndex::Found Outbox::find_hidden(HiddenTable kind, const KeyView& key) const {
  const TableId owner = write_->table.id();
  const Table* const table = write_->catalog.find_hidden(owner, kind);
  if (table == nullptr) return {};
  const Table* const base =
      write_->base == nullptr ? nullptr : write_->base->find_hidden(owner, kind);
  return table->index.find_for_update(key, base == nullptr ? nullptr : &base->index);
}

void Outbox::note_part_if(bool is_needed, const TableIndex::Found& found) {
  if (is_needed) parts_needed_.push_back(found.part_needed);
}

void Outbox::put(HiddenTable kind, const KeyView& key, Ticks timestamp,
                 std::span<const PropertyView> properties) {
  put(kind, key, timestamp, properties, find_hidden(kind, key));
}

// Puts a row that is not there. Notes its part if the part is not in memory and has a full overlay:
// a write copies the overlay, so without this bound, writes would become slower and slower.
void Outbox::put(HiddenTable kind, const KeyView& key, Ticks timestamp,
                 std::span<const PropertyView> properties, const TableIndex::Found& found) {
  note_part_if(found.needs_part_for_any_change, found);
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
