// Writes the outbox of tables that are synced: what local writes did to which entities, and for
// the first pending operation of a key, its Base: the row as the remote had it. web/src/sync reads
// the outbox and pushes its operations to the remote (web/src/sync/PROTOCOL.md).
//
//   table       key                            row
//   bases       key                            _Kind: BaseKind; _Etag, if it does not follow from
//   the
//                                              Timestamp of the Base; the properties of the Base,
//                                              unless they are apart
//   base_rows   key                            the row of a Base that is apart, because it is
//   large,
//                                              or has properties with the names above
//   etags       key                            _Etag of a clean row, if it does not follow from its
//                                              Timestamp; removed when a Base takes it
//   outbox      partition, number              _Key: the RowKey; _Kind: OutboxOperation; only sync
//                                              adds _Group: its group's commit, if that is not the
//                                              number's, and _Resent: true; and properties that the
//                                              operation set
//               partition, number s0 s1 …      more properties that it set
//               partition, number u            the properties that it removed, each true; of a
//                                              creation by sync, those that it did not write
//
// A number has 16 digits: that of the commit times operations_per_commit, plus the position in the
// commit. The operations of a commit in a partition are a group. Hidden rows obey the limits of
// entities, so the properties that were set are in several rows if they are large or many, or have
// one of the names that begin with `_` above. FORMAT.md says what a row means that does not have
// the properties above ("Hidden tables"). The Timestamp of a row of bases is that of the Base.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/property_view_arena.h"
#include "core/store/outbox_writer.h"
#include "core/store/remote_limits.h"

namespace entitable {

// These numbers never change.
enum class BaseKind : std::uint8_t {
  absent = 0,
  row = 1,
  outdated_absent = 2,
  outdated_row = 3,
  row_apart = 4,  // its properties are in base_rows
  outdated_row_apart = 5,
};
enum class OutboxOperation : std::uint8_t { create = 0, edit = 1, remove = 2 };

class Outbox final : public OutboxWriter {
 public:
  // A row with properties that were set ends with the one that makes it this large.
  static constexpr std::size_t row_bytes_max = 512 * 1024;
  // A Base of more packed bytes is apart. As UTF-16, which limits count, text may be twice as long.
  static constexpr std::size_t base_bytes_max = 256 * 1024;
  static constexpr std::size_t number_digits = 16;

  std::unique_ptr<OutboxWriter> make_another() const override { return std::make_unique<Outbox>(); }
  std::optional<Failure> add_operations(const LocalWrite& write, StagedMutations& staged) override;

 private:
  void begin(const LocalWrite& write, std::size_t operations);
  KeyView key_of(const Mutation& mutation);
  void add_base(const KeyView& key, const std::optional<RowView>& before,
                std::span<const PropertyView> properties);
  void add_operation(const KeyView& key, std::size_t position, std::span<const PropertyView> before,
                     bool existed, const PutRow* after);
  static std::size_t count_beside_own(std::span<const PropertyView> set);
  void add_set(std::string_view partition, std::string_view number,
               std::span<const PropertyView> set);
  bool add_unset(std::string_view partition, std::string_view number,
                 std::span<const PropertyView> before, std::span<const PropertyView> after);
  std::optional<Failure> check_limits() const;
  std::optional<std::string_view> take_etag(const KeyView& key);
  TableIndex::Found find_hidden(HiddenTable kind, const KeyView& key) const;
  void note_part_if(bool is_needed, const TableIndex::Found& found);
  void put(HiddenTable kind, const KeyView& key, Ticks timestamp,
           std::span<const PropertyView> properties);
  void put(HiddenTable kind, const KeyView& key, Ticks timestamp,
           std::span<const PropertyView> properties, const TableIndex::Found& found);
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  std::span<const PropertyView> properties_of(const RowView& row);

  const LocalWrite* write_ = nullptr;
  std::vector<std::array<char, number_digits>> numbers_;  // of the operations
  std::vector<OperationToPush> to_push_;                  // of the write
  std::vector<PartId> parts_needed_;
  std::vector<Mutation> mutations_;
  std::deque<std::string> texts_;  // do not move
  PropertyViewArena lists_;
  std::vector<PropertyView> properties_;  // of the row that is being read
};

}  // namespace entitable
