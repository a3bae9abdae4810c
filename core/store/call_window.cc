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

// Returns the client's position. If the window is full, a new client replaces the client whose last
// call is the oldest.
std::size_t CallWindow::find_or_add_client(const ClientId& id) {
  const std::size_t at = position(id);
  if (at < clients_.size()) return at;
  Client fresh{id, {}};
  if (clients_.size() < clients_max) {
    clients_.push_back(std::move(fresh));
    return at;
  }
  const auto least_recent =
      std::min_element(clients_.begin(), clients_.end(),
                       [](const Client& a, const Client& b) { return a.last_use < b.last_use; });
  *least_recent = std::move(fresh);
  return static_cast<std::size_t>(least_recent - clients_.begin());
}

void CallWindow::reserve(const ClientId& client) {
  latest_ = find_or_add_client(client);
  clients_[latest_].ring.reserve(calls_per_client);  // a copied window has not reserved it
  clients_[latest_].last_use = ++uses_;
}

void CallWindow::reserve(const std::vector<ClientCall>& calls) {
  for (const ClientCall& call : calls) reserve(call.client);
}

void CallWindow::add(ClientCall&& call) noexcept {
  const std::size_t at = position(call.client);
  if (at == clients_.size()) return;  // one group had calls of more than clients_max clients
  Client& client = clients_[at];
  client.highest = std::max(client.highest, call.number);
  if (client.ring.size() < calls_per_client) {
    client.ring.push_back(std::move(call));
    return;
  }
  client.ring[client.oldest] = std::move(call);
  client.oldest = (client.oldest + 1) % calls_per_client;
}

std::vector<ClientCall> CallWindow::calls() const {
  std::vector<const Client*> by_use;
  for (const Client& client : clients_) by_use.push_back(&client);
  std::sort(by_use.begin(), by_use.end(),
            [](const Client* a, const Client* b) { return a->last_use < b->last_use; });
  std::vector<ClientCall> calls;
  for (const Client* client : by_use) {
    const auto oldest = client->ring.begin() + static_cast<std::ptrdiff_t>(client->oldest);
    calls.insert(calls.end(), oldest, client->ring.end());
    calls.insert(calls.end(), client->ring.begin(), oldest);
  }
  return calls;
}

}  // namespace entitable
