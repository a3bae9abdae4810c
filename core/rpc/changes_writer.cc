#include "core/rpc/changes_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/base/check.h"
#include "core/model/date_time.h"

namespace entitable::rpc {
namespace {

constexpr std::uint32_t leave_by_key = 3;  // a DeltaKind, or this
constexpr std::uint32_t flag_reset = 1;
constexpr std::uint32_t flag_complete = 2;
constexpr std::uint32_t flag_counted = 4;
constexpr std::uint32_t flag_unknown = 1;

// Rows of one version of one table.
struct RowRun {
  std::string_view table;
  const Schema* schema;
  std::size_t first;  // position in Rows::rows_
  std::size_t count;
};

// The rows of the message, numbered from 0, and the keys of rows that it does not have.
class Rows {
 public:
  void reserve(std::size_t count) { rows_.reserve(count); }
  std::uint32_t add(std::string_view table, const RowView& row) {
    const Schema* const schema = &row.shape().schema();
    if (runs_.empty() || runs_.back().schema != schema)
      runs_.push_back({table, schema, rows_.size(), 0});
    ++runs_.back().count;
    rows_.push_back(row);
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }
  std::uint32_t add_key(const KeyView& key) {
    keys_.push_back(key);
    return static_cast<std::uint32_t>(keys_.size() - 1);
  }
  const std::vector<RowRun>& runs() const { return runs_; }
  std::span<const RowView> rows_of(const RowRun& run) const {
    return std::span(rows_).subspan(run.first, run.count);
  }
  const std::vector<KeyView>& keys() const { return keys_; }

 private:
  std::vector<RowView> rows_;
  std::vector<RowRun> runs_;
  std::vector<KeyView> keys_;
};

// The words of the deltas of a client. Each listed row gets one number, however many deltas refer
// to it. A row that the client's watches only lose is sent as its key.
class DeltaEncoder {
 public:
  DeltaEncoder(const TakenChanges& taken, const ClientListeners& listeners) : taken_(taken) {
    for (const WatchDelta& delta : taken.deltas) {
      if (auto watch = listeners.find_watch(delta.watch)) deltas_.push_back({&delta, *watch});
    }
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(deltas_.size()); }

  std::vector<std::uint32_t> encode(Rows& rows) {
    number_rows(rows);
    std::vector<std::uint32_t> words;
    words.reserve(words_max());
    for (const auto& [delta, watch] : deltas_) {
      words.push_back(delta->watch);
      words.push_back((delta->reset ? flag_reset : 0) | (delta->complete ? flag_complete : 0) |
                      (watch.counts ? flag_counted : 0));
      watch.counts ? count_rows(*delta, words) : refer_to_rows(*delta, rows, words);
    }
    return words;
  }

 private:
  struct ClientDelta {
    const WatchDelta* delta;
    ClientWatch watch;
  };

  // What the client gets of a listed row.
  struct SentRow {
    const ClientWatch* needed_by = nullptr;  // null: not the row
    std::uint32_t number = none;
    std::uint32_t key_number = none;  // none: not the key, so far
  };

  std::size_t words_max() const {
    std::size_t words = 0;
    for (const auto& [delta, watch] : deltas_)
      words += 2 + (watch.counts ? 2 : 1 + delta->rows.size());
    return words;
  }

  void number_rows(Rows& rows) {
    sent_.assign(taken_.rows.size(), {});
    std::size_t count = 0;
    for (const auto& [delta, watch] : deltas_) {
      if (watch.counts) continue;
      for (const DeltaRow& row : delta->rows) {
        if (row.kind == DeltaKind::leave) continue;
        if (sent_[row.row].needed_by == nullptr) ++count;
        sent_[row.row].needed_by = &watch;
      }
    }
    rows.reserve(count);
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      if (sent_[i].needed_by != nullptr)
        sent_[i].number = rows.add(sent_[i].needed_by->table, *taken_.rows[i].row);
    }
  }

  static void count_rows(const WatchDelta& delta, std::vector<std::uint32_t>& words) {
    const auto count = [&delta](DeltaKind kind) {
      return static_cast<std::uint32_t>(
          std::count_if(delta.rows.begin(), delta.rows.end(),
                        [kind](const DeltaRow& row) { return row.kind == kind; }));
    };
    words.push_back(count(DeltaKind::enter));
    words.push_back(count(DeltaKind::leave));
  }

  void refer_to_rows(const WatchDelta& delta, Rows& rows, std::vector<std::uint32_t>& words) {
    words.push_back(static_cast<std::uint32_t>(delta.rows.size()));
    for (const DeltaRow& row : delta.rows) {
      SentRow& sent = sent_[row.row];
      std::uint32_t number = sent.number;
      auto kind = static_cast<std::uint32_t>(row.kind);
      if (number == none) {
        if (sent.key_number == none)
          sent.key_number = rows.add_key(taken_.rows[row.row].key_view());
        number = sent.key_number;
        kind = leave_by_key;
      }
      words.push_back(kind | number << 2);
    }
  }

  const TakenChanges& taken_;
  std::vector<ClientDelta> deltas_;
  std::vector<SentRow> sent_;  // by listed row
};

// The batches of a client's feeds.
class BatchEncoder {
 public:
  BatchEncoder(const TakenChanges& taken, const ClientListeners& listeners)
      : client_(listeners.id) {
    for (const ClientFeed& feed : listeners.feeds) {
      for (const ChangeBatch& batch : taken.batches) {
        if (batch.unknown || batch.position > feed.opened_at) select(feed, batch);
      }
    }
  }

  const std::vector<std::string_view>& table_names() const { return names_; }
  std::size_t words_max() const { return words_max_; }
  void number_rows(Rows& rows) {
    for (Selected& selected : batches_) {
      for (SelectedRow& row : selected.rows) {
        const RowChange& change = *row.change;
        const std::string_view table = change.table->name.folded();
        row.number =
            change.exists_after ? rows.add(table, *change.after) : rows.add_key(change.key.view());
        if (selected.feed->wants_before && change.before.has_value())
          row.before = rows.add(table, change.before->view());
      }
    }
  }

  void write(ResponseWriter& writer) const {
    writer.word(static_cast<std::uint32_t>(batches_.size()));
    for (const Selected& selected : batches_) {
      const ChangeBatch& batch = *selected.batch;
      writer.word(selected.feed->id);
      writer.word(batch.unknown ? flag_unknown : 0);
      writer.word(static_cast<std::uint32_t>(origin_of(batch)));
      writer.word(static_cast<std::uint32_t>(selected.rows.size()));
      writer.word(static_cast<std::uint32_t>(selected.tables.size()));
      writer.two_words(sequence_of(batch.position));
      writer.float64(unix_ms(batch.last_timestamp));
      for (const SelectedRow& row : selected.rows) {
        writer.word(row.table);
        writer.word(static_cast<std::uint32_t>(row.change->op()));
        writer.word(row.number);
        writer.word(row.before);
      }
      for (const auto& [table, created] : selected.tables) {
        writer.word(table);
        writer.word(created ? 1 : 0);
      }
    }
  }

 private:
  struct SelectedRow {
    const RowChange* change;
    std::uint32_t table;
    std::uint32_t number = none;
    std::uint32_t before = none;
  };
  struct SelectedTable {
    std::uint32_t table;
    bool created;
  };
  struct Selected {
    const ClientFeed* feed;
    const ChangeBatch* batch;
    std::vector<SelectedRow> rows{};
    std::vector<SelectedTable> tables{};
  };

  // Returns the origin as the client sees it.
  CommitOrigin origin_of(const ChangeBatch& batch) const {
    const bool is_call = batch.origin == CommitOrigin::local;
    return is_call && batch.client != client_ ? CommitOrigin::other_tab : batch.origin;
  }
  static double unix_ms(Ticks ticks) {
    const Ticks ms = (ticks - ticks_at_unix_epoch) / ticks_per_millisecond;
    return static_cast<double>(ms);
  }

  void select(const ClientFeed& feed, const ChangeBatch& batch) {
    constexpr std::size_t batch_words = 5 + 2 * 3;
    Selected selected{&feed, &batch};
    for (const RowChange& change : batch.rows) {
      if (feed.selection->accepts(change))
        selected.rows.push_back({&change, number_of(*change.table)});
    }
    for (const TableChange& change : batch.tables) {
      if (feed.selection->accepts(change))
        selected.tables.push_back({number_of(*change.table), change.created});
    }
    if (selected.rows.empty() && selected.tables.empty() && !batch.unknown) return;
    words_max_ += batch_words + selected.rows.size() * 4 + selected.tables.size() * 2;
    batches_.push_back(std::move(selected));
  }

  std::uint32_t number_of(const TableIdentity& table) {
    const auto [at, is_new] =
        name_numbers_.emplace(table.id, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(table.name.text());
    return at->second;
  }

  ClientId client_;
  std::vector<Selected> batches_;
  std::map<TableId, std::uint32_t> name_numbers_;
  std::vector<std::string_view> names_;
  std::size_t words_max_ = 0;
};

}  // namespace

void ChangesWriter::write(ResponseBuffer& out, const TakenChanges& taken,
                          const FeedProgress& progress, const ClientListeners& listeners) {
  Rows rows;
  DeltaEncoder deltas(taken, listeners);
  const std::vector<std::uint32_t> delta_words = deltas.encode(rows);
  BatchEncoder batches(taken, listeners);
  batches.number_rows(rows);
  const std::vector<std::string_view>& names = batches.table_names();
  constexpr std::size_t sequences_and_counts = 2 + 2 + 5;
  ResponseWriter writer(out, ResponseKind::changes,
                        sequences_and_counts + rows.runs().size() + rows.keys().size() * 2 +
                            delta_words.size() + names.size() + batches.words_max());
  writer.align_binary();
  writer.two_words(sequence_of(progress.last));
  writer.two_words(sequence_of(progress.stored));
  writer.word(static_cast<std::uint32_t>(rows.runs().size()));
  for (const RowRun& run : rows.runs()) {
    pages_.write(page_, run.table, rows.rows_of(run), {}, std::nullopt);
    page_.pad();
    writer.binary(page_.view());
  }
  writer.word(static_cast<std::uint32_t>(rows.keys().size()));
  for (const KeyView& key : rows.keys()) {
    writer.text(key.partition);
    writer.text(key.row);
  }
  writer.word(deltas.count());
  writer.append_words(delta_words);
  writer.word(static_cast<std::uint32_t>(names.size()));
  for (const std::string_view name : names) writer.text(name);
  batches.write(writer);
  writer.finish();
}

}  // namespace entitable::rpc
