// The hot paths, one after another, each under callgrind for itself: how many instructions an
// operation takes does not depend on what else the machine does. tests/bench/run instructions runs
// it and reads what callgrind wrote; run without callgrind it only shows that the paths work.
//
// Prints a line for each path, in the order of callgrind's dumps: name, how often, per what.

#include <valgrind/callgrind.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/dispatch/dispatcher.h"
#include "core/rpc/listening_clients.h"
#include "core/rpc/operations.h"
#include "core/store/sync_tables.h"
#include "tests/bench/core/workload.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/support/call_messages.h"

namespace entitable::bench {
namespace {

constexpr std::size_t store_rows = 100'000;

// Counts what `work` does, the second time: first times (memory, shapes) are not what is asked.
template <typename Work>
void count(const char* name, const char* unit, std::size_t operations, Work work) {
  work(0);
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  work(1);
  CALLGRIND_DUMP_STATS_AT(name);
  CALLGRIND_STOP_INSTRUMENTATION;
  std::printf("%s\t%zu\t%s\n", name, operations, unit);
  std::fflush(stdout);
}

std::uint8_t kind_of(const rpc::ResponseBuffer& response) {
  return static_cast<std::uint8_t>(response.view().front());
}

// ---- Reads --------------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(const Store& store) : store_(store) {}
  void read(const std::string& message) {
    rpc::handle_read(store_, message, pages_, response_);
    ENTITABLE_CHECK(kind_of(response_) == static_cast<std::uint8_t>(rpc::ResponseKind::page));
  }
  void handle(const std::string& message) {
    dispatch::handle_rest_read(account_, store_, message, noon, response_);
    const auto status = static_cast<std::uint8_t>(response_.view()[2]);
    ENTITABLE_CHECK(status == 200);
  }

 private:
  const Store& store_;
  rest::Account account_;
  rpc::PageWriter pages_;
  rpc::ResponseBuffer response_;
};

void count_reads(const Store& store) {
  Reader reader(store);
  constexpr std::size_t reads = 1000;
  const std::vector<std::size_t> order = shuffled(store_rows);
  std::vector<std::string> gets;
  std::vector<std::string> rest_gets;
  for (std::size_t i = 0; i < 2 * reads; ++i) {
    gets.push_back(get_message(key(order[i])));
    rest_gets.push_back(rest_get(key(order[i])).message());
  }
  count("point read", "read", reads, [&](std::size_t round) {
    for (std::size_t i = 0; i < reads; ++i) reader.read(gets[round * reads + i]);
  });
  const std::string page = query_message("", 1000);
  count("page of 1000", "row", 10'000, [&](std::size_t) {
    for (int i = 0; i < 10; ++i) reader.read(page);
  });
  const std::string scan = query_message(filter_nothing, 1000);
  reader.read(scan);  // so that what a second scan keeps for later ones is there
  count("scan, nothing out", "row", store_rows, [&](std::size_t) { reader.read(scan); });
  const std::string filter =
      "PartitionKey eq '" + key(0).partition + "' and " + std::string(filter_one_percent);
  const std::string partition = query_message(filter, 1000);
  for (int i = 0; i < 2; ++i) reader.read(partition);
  count("partition scan, 1 % out", "row", partition_rows,
        [&](std::size_t) { reader.read(partition); });
  count("REST: point read", "read", reads, [&](std::size_t round) {
    for (std::size_t i = 0; i < reads; ++i) reader.handle(rest_gets[round * reads + i]);
  });
  const std::string rest_page = rest_query("", 1000).message();
  count("REST: page of 1000", "row", 10'000, [&](std::size_t) {
    for (int i = 0; i < 10; ++i) reader.handle(rest_page);
  });
}

// ---- Writes -------------------------------------------------------------------------------------

using Messages = std::vector<std::string_view>;

class Writer {
 public:
  explicit Writer(Store& store) : store_(store) {}
  // From the messages to the bytes of the segment, as the host does it with what waits together.
  void defer(const Messages& messages) {
    dispatch::stage_and_publish(account_, store_, messages, noon, staged_);
    ENTITABLE_CHECK(staged_.changes);
  }
  void store_deferred() { store_.mark_stored(store_.seal()->sequence); }
  void write(const Messages& messages) {
    defer(messages);
    store_deferred();
  }
  // Stages the messages without publishing them, as strict and relaxed writes do.
  void stage(const Messages& messages) {
    dispatch::stage(account_, store_, messages, noon, staged_);
    ENTITABLE_CHECK(staged_.changes);
    store_deferred();
    store_.publish();
  }

 private:
  Store& store_;
  rest::Account account_;
  dispatch::StagedResponses staged_;
};

constexpr std::size_t writes = 1000;

// message_of(i): the i-th message of 2 * writes; write(messages): writes half of them.
template <typename MessageOf, typename Write>
void count_messages(const char* name, MessageOf message_of, Write write) {
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < 2 * writes; ++i) messages.push_back(message_of(i));
  count(name, "write", writes, [&](std::size_t round) {
    const auto first = messages.begin() + static_cast<std::ptrdiff_t>(round * writes);
    write(Messages(first, first + writes));
  });
}

// Each stored alone.
template <typename MessageOf>
void count_singles(const char* name, Store& store, MessageOf message_of) {
  count_messages(name, message_of, [&](const Messages& messages) {
    Writer writer(store);
    Messages one(1);
    for (const std::string_view message : messages) {
      one[0] = message;
      writer.write(one);
    }
  });
}

// message_of(first): the group of the entities from the first one on.
template <typename MessageOf>
void count_groups(const char* name, Store& store, std::size_t from, MessageOf message_of) {
  constexpr std::size_t groups = writes / group_rows;
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < 2 * writes; i += group_rows) {
    messages.push_back(message_of(from + i));
  }
  count(name, "entity", writes, [&](std::size_t round) {
    Writer writer(store);
    for (std::size_t i = 0; i < groups; ++i) writer.write({messages[round * groups + i]});
  });
}

// Rows between others, in the ways that the host has.
void count_inserts_between(Store& store, const std::vector<std::size_t>& order) {
  std::size_t from = 0;  // each way has keys of its own
  const auto message_of = [&](std::size_t i) {
    return write_message({insert_operation(new_key(order[from + i]), i)});
  };
  Writer writer(store);
  count_singles("insert, between others", store, message_of);
  from += 2 * writes;
  const auto store_later = [&](const Messages& messages) {
    Messages one(1);
    for (const std::string_view message : messages) {
      one[0] = message;
      writer.defer(one);
    }
    writer.store_deferred();
  };
  count_messages("insert, between others, stored later", message_of, store_later);
  from += 2 * writes;
  const auto call_of = [&](std::size_t i) { return test::in_call(i + 1, message_of(i)); };
  count_messages("insert, between others, stored later, as a call", call_of, store_later);
  from += 2 * writes;
  count_messages("insert, between others, staged", message_of, [&](const Messages& messages) {
    for (const std::string_view message : messages) writer.stage({message});
  });
  from += 2 * writes;
  count_messages("insert, between others, 1,000 staged together", message_of,
                 [&](const Messages& messages) { writer.stage(messages); });
}

void count_writes(Store& store) {
  std::size_t end = store_rows;  // keys from here on are greater than all keys in the store
  const std::vector<std::size_t> order = shuffled(store_rows);
  count_groups("insert, in groups of 100", store, end,
               [](std::size_t first) { return write_message(insert_group(first)); });
  end += 2 * writes;
  count_singles("insert, after all others", store,
                [&](std::size_t i) { return write_message({insert_operation(key(end + i), i)}); });
  end += 2 * writes;
  // The least that a write of a synced table can cost: its row, and one that says what it changed.
  count_singles("insert of two rows in one commit, after all others", store, [&](std::size_t i) {
    const std::size_t first = end + 2 * i;
    return write_message({insert_operation(key(first), i), insert_operation(key(first + 1), i)});
  });
  end += 4 * writes;
  count_inserts_between(store, order);
  count_singles("merge of one property", store, [&](std::size_t i) {
    Operation merge{OperationKind::merge, key(order[i]), {}, IfMatch::any()};
    merge.properties.push_back({"version", Value::of_int32(2)});
    return write_message({merge});
  });
  count_singles("REST: insert, after all others", store,
                [&](std::size_t i) { return rest_insert(key(end + i), i).message(); });
  end += 2 * writes;
  count_groups("REST: insert, in groups of 100", store, end,
               [](std::size_t first) { return rest_batch(first).message(); });
  end += 2 * writes;
  Writer writer(store);
  count_messages(
      "insert, after all others, 1,000 calls staged together",
      [&](std::size_t i) {
        return test::in_call(end + i, write_message({insert_operation(key(end + i), i)}));
      },
      [&](const Messages& messages) { writer.stage(messages); });
}

// ---- Live queries -------------------------------------------------------------------------------

// A client with a live query of the rows from a key on.
class LiveClient {
 public:
  LiveClient(Store& store, const EntityKey& from) : store_(store) {
    using test::RequestBuilder;
    RequestBuilder open(rpc::RequestKind::open_watch);
    open.word(0).text(table).text("PartitionKey ge '" + from.partition + "'");
    send(open.word(rpc::none).no_text().no_text().build());
    const auto watch = static_cast<std::uint32_t>(response_.view()[rpc::header_bytes]);
    send(RequestBuilder(rpc::RequestKind::read_watch).word(watch).word(1000).build());
    take_ = RequestBuilder(rpc::RequestKind::take_changes).word(1).build();
  }
  ~LiveClient() { send(test::RequestBuilder(rpc::RequestKind::close_listeners).build()); }
  LiveClient(const LiveClient&) = delete;
  LiveClient& operator=(const LiveClient&) = delete;

  void take_changes() { send(take_); }

 private:
  void send(const std::string& message) { clients_.handle(store_, 1, message, pages_, response_); }

  Store& store_;
  rpc::ListeningClients clients_;
  rpc::PageWriter pages_;
  rpc::ResponseBuffer response_;
  std::string take_;
};

// Inserts after all other rows, stored later. The changes of each message are taken.
void count_live(Store& store, std::size_t end) {
  LiveClient client(store, key(end));
  Writer writer(store);
  const auto write = [&](const Messages& messages) {
    Messages one(1);
    for (const std::string_view message : messages) {
      one[0] = message;
      writer.defer(one);
      client.take_changes();
    }
    writer.store_deferred();
  };
  std::vector<std::string> groups;
  for (std::size_t i = 0; i < 2 * writes; i += group_rows)
    groups.push_back(write_message(insert_group(end + i)));
  count("insert, in groups of 100, that a live query sees", "entity", writes,
        [&](std::size_t round) {
          const auto half = static_cast<std::ptrdiff_t>(writes / group_rows);
          const auto first = groups.begin() + static_cast<std::ptrdiff_t>(round) * half;
          write(Messages(first, first + half));
        });
  end += 2 * writes;
  count_messages(
      "insert, after all others, that a live query sees",
      [&](std::size_t i) { return write_message({insert_operation(key(end + i), i)}); }, write);
}

// ---- Synced tables ------------------------------------------------------------------------------

// Returns a store whose table is synced, with the rows of the remote.
Store synced_store() {
  Store store = new_store();
  SyncTables(store).enable();
  commit(store, {SyncTables::start(std::string(table))});
  for (std::size_t i = 0; i < store_rows; i += partition_rows) {
    SyncedChanges changes{std::string(table), store.last_commit(), {}};
    for (std::size_t row = i; row < i + partition_rows; ++row) {
      Entity remote = entity(row);
      changes.rows.push_back({std::nullopt, std::move(remote.key), false, remote.timestamp,
                              std::move(remote.properties)});
    }
    commit(store, {SyncTables::apply(changes)});
  }
  return store;
}

void count_synced_writes() {
  constexpr std::size_t pending = 20'000;
  Store store = synced_store();
  const std::vector<std::size_t> order = shuffled(store_rows);
  std::size_t end = store_rows;
  const auto insert_of = [&](std::size_t i) {
    return write_message({insert_operation(key(end + i), i)});
  };
  count_singles("synced: insert, after all others", store, insert_of);
  end += 2 * writes;
  count_singles("synced: merge of one property", store, [&](std::size_t i) {
    Operation merge{OperationKind::merge, key(order[i]), {}, IfMatch::any()};
    merge.properties.push_back({"version", Value::of_int32(2)});
    return write_message({merge});
  });
  for (const std::size_t last = end + pending; end < last; end += group_rows)
    commit(store, {group_request(insert_group(end))});
  count_singles("synced: insert, after all others, 20,000 operations pending", store, insert_of);
}

// ---- Opening ------------------------------------------------------------------------------------

void count_opening(Store& store) {
  constexpr std::size_t rows = 10'000;
  std::vector<std::string> segments;
  Store logged;
  ENTITABLE_CHECK(logged.begin_recovery(std::nullopt).ok());
  logged.finish_recovery();
  segments.push_back(commit(logged, {{std::nullopt, WriteCreateTable{std::string(table)}}}));
  for (std::size_t i = 0; i < rows; i += group_rows) {
    segments.push_back(commit(logged, {group_request(insert_group(i))}));
  }
  count("opening: replay of segments", "row", rows, [&](std::size_t) {
    Store opened;
    ENTITABLE_CHECK(opened.begin_recovery(std::nullopt).ok());
    for (std::size_t i = 0; i < segments.size(); ++i) {
      ENTITABLE_CHECK(opened.replay(i + 1, segments[i]).ok());
    }
    opened.finish_recovery();
    ENTITABLE_CHECK(opened.stats().rows == rows);
  });

  Store small = filled_store(group_rows);  // for the first time: a checkpoint is done once
  Files files;
  count("checkpoint", "row", store.stats().rows,
        [&](std::size_t round) { files = checkpoint(round == 0 ? small : store); });
  count("opening: parts of a checkpoint", "row", store.stats().rows, [&](std::size_t) {
    Store opened;
    ENTITABLE_CHECK(opened.begin_recovery(files.manifest).ok());
    for (const CheckpointPart& part : files.parts) {
      ENTITABLE_CHECK(opened.load_part(part.id, part.bytes).ok());
    }
    opened.finish_recovery();
    ENTITABLE_CHECK(opened.stats().rows == store.stats().rows);
  });
}

}  // namespace
}  // namespace entitable::bench

int main() {
  using namespace entitable::bench;
  entitable::Store store = filled_store(store_rows);
  count_reads(store);
  count_writes(store);
  count_live(store, 10 * store_rows);
  count_synced_writes();
  count_opening(store);
  return 0;
}
