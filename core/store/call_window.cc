#include "core/store/call_window.h"

#include <algorithm>
#include <utility>

namespace entitable {

std::size_t CallWindow::position(const ClientId& id) const {
  if (latest_ < clients_.size() && clients_[latest_].id == id) return latest_;
  const auto at = std::find_if(clients_.begin(), clients_.end(),
                               [&](const Client& client) { return client.id == id; });
  return static_cast<std::size_t>(at - clients_.begin());
}

const ClientCall* CallWindow::find(const ClientId& client, std::uint64_t number) const {
  const std::size_t at = position(client);
  if (at == clients_.size() || number > clients_[at].highest) return nullptr;
  const std::vector<ClientCall>& ring = clients_[at].ring;
  const auto call = std::find_if(ring.begin(), ring.end(),
                                 [&](const ClientCall& c) { return c.number == number; });
  return call == ring.end() ? nullptr : &*call;
}

std::vector<std::uint64_t> CallWindow::numbers(const ClientId& client) const {
  std::vector<std::uint64_t> numbers;
  const std::size_t at = position(client);
  if (at == clients_.size()) return numbers;
  const Client& known = clients_[at];
  for (std::size_t i = 0; i < known.ring.size(); ++i) {
    numbers.push_back(known.ring[(known.oldest + i) % known.ring.size()].number);
  }
  return numbers;
}

std::size_t CallWindow::find_or_add_client(const ClientId& id) {
  const std::size_t at = position(id);
  if (at == clients_.size()) clients_.push_back(Client{id, {}});
  return at;
}

void CallWindow::remove(std::size_t at) noexcept {
  std::swap(clients_[at], clients_.back());
  clients_.pop_back();
}

// Removes the clients whose calls were not added after reserve(), because they had no effect.
void CallWindow::remove_unused() noexcept {
  for (std::size_t at = clients_.size(); used_ < clients_.size() && at-- > 0;) {
    if (clients_[at].ring.empty()) remove(at);
  }
}

void CallWindow::drop_least_recent() noexcept {
  std::size_t oldest = clients_.size();
  for (std::size_t at = 0; at < clients_.size(); ++at) {
    if (clients_[at].ring.empty()) continue;
    if (oldest == clients_.size() || clients_[at].last_use < clients_[oldest].last_use) oldest = at;
  }
  dropped_through_ = std::max(dropped_through_, clients_[oldest].commit);
  remove(oldest);
  --used_;
}

void CallWindow::reserve_for(const ClientId& client) {
  latest_ = find_or_add_client(client);
  clients_[latest_].ring.reserve(calls_per_client);  // a copied window has not reserved it
}

void CallWindow::reserve(const ClientId& client) {
  remove_unused();
  reserve_for(client);
}

void CallWindow::reserve(const std::vector<ClientCall>& calls) {
  remove_unused();
  for (const ClientCall& call : calls) reserve_for(call.client);
}

void CallWindow::add(ClientCall&& call, std::uint64_t commit) noexcept {
  std::size_t at = position(call.client);
  if (clients_[at].ring.empty()) {
    if (used_ == clients_max) drop_least_recent();
    ++used_;
    at = position(call.client);
  }
  Client& client = clients_[at];
  client.last_use = ++uses_;
  client.commit = std::max(client.commit, commit);
  client.highest = std::max(client.highest, call.number);
  if (client.ring.size() < calls_per_client) {
    client.ring.push_back(std::move(call));
    return;
  }
  client.ring[client.oldest] = std::move(call);
  client.oldest = (client.oldest + 1) % calls_per_client;
}

void CallWindow::mark_dropped(std::uint64_t commit) {
  dropped_through_ = std::max(dropped_through_, commit);
}

// Returns the clients that have calls. The client that called last comes last.
std::vector<const CallWindow::Client*> CallWindow::by_use() const {
  std::vector<const Client*> clients;
  for (const Client& client : clients_)
    if (!client.ring.empty()) clients.push_back(&client);
  std::sort(clients.begin(), clients.end(),
            [](const Client* a, const Client* b) { return a->last_use < b->last_use; });
  return clients;
}

CallCommits CallWindow::commits() const {
  CallCommits commits{dropped_through_, {}};
  for (const Client* client : by_use()) commits.newest.push_back(client->commit);
  return commits;
}

std::vector<ClientCall> CallWindow::calls() const {
  std::vector<ClientCall> calls;
  for (const Client* client : by_use()) {
    const auto oldest = client->ring.begin() + static_cast<std::ptrdiff_t>(client->oldest);
    calls.insert(calls.end(), oldest, client->ring.end());
    calls.insert(calls.end(), client->ring.begin(), oldest);
  }
  return calls;
}

}  // namespace entitable
