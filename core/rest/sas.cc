#include "core/rest/sas.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/rest/access_policies.h"
#include "core/rest/percent_encoding.h"

namespace entitable::rest {
namespace {

struct Field {
  std::string_view name;
  std::string SasFields::*value;
};
constexpr Field sas_fields[] = {
    {"sv", &SasFields::sv},   {"sp", &SasFields::sp},   {"st", &SasFields::st},
    {"se", &SasFields::se},   {"sip", &SasFields::sip}, {"spr", &SasFields::spr},
    {"sig", &SasFields::sig}, {"tn", &SasFields::tn},   {"si", &SasFields::si},
    {"spk", &SasFields::spk}, {"srk", &SasFields::srk}, {"epk", &SasFields::epk},
    {"erk", &SasFields::erk}, {"ss", &SasFields::ss},   {"srt", &SasFields::srt},
    {"ses", &SasFields::ses},
};

// A line end in a field would let one string to sign stand for two different sets of fields.
bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

bool is_version(std::string_view text) {
  return text.size() == 10 && parse_policy_date(text).has_value() && text >= sas_version_min;
}

// ---- Addresses ----------------------------------------------------------------------------------

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = text.find('.');
    if ((dot == std::string_view::npos) != (part == 3)) return std::nullopt;
    const std::string_view digits = text.substr(0, dot);
    const bool plain = !digits.empty() && digits.size() <= 3 &&
                       digits.find_first_not_of("0123456789") == std::string_view::npos;
    const auto value = plain ? parse_int32(digits) : std::nullopt;
    if (!value.has_value() || *value > 255) return std::nullopt;
    address = address << 8 | static_cast<std::uint32_t>(*value);
    text.remove_prefix(dot == std::string_view::npos ? text.size() : dot + 1);
  }
  return address;
}

struct AddressRange {
  std::uint32_t first, last;
};

// Parses one address "a" or a range "a-b".
std::optional<AddressRange> parse_addresses(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_ipv4(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_ipv4(text.substr(dash + 1));
  if (!first.has_value() || !last.has_value()) return std::nullopt;
  return AddressRange{*first, *last};
}

bool is_among(std::string_view client, const AddressRange& range) {
  // A server that listens on IPv4 and IPv6 prefixes the addresses of IPv4 clients with this.
  constexpr std::string_view mapped = "::ffff:";
  if (client.substr(0, mapped.size()) == mapped) client.remove_prefix(mapped.size());
  const auto address = parse_ipv4(client);
  return address.has_value() && range.first <= *address && *address <= range.last;
}

// ---- Verification -------------------------------------------------------------------------------

Error failed() {
  return Error(ErrorCode::authentication_failed);
}

bool is_account_sas(const SasFields& fields) {
  return !fields.ss.empty() || !fields.srt.empty();
}

bool is_well_formed(const SasFields& f) {
  const bool named = is_account_sas(f) ? f.tn.empty() && f.si.empty() : !f.tn.empty();
  const bool rows_have_partitions =
      (f.srk.empty() || !f.spk.empty()) && (f.erk.empty() || !f.epk.empty());
  const bool protocol =
      f.spr.empty() || f.spr == "https" || f.spr == "https,http" || f.spr == "http,https";
  return is_version(f.sv) && named && rows_have_partitions && protocol &&
         (f.sip.empty() || parse_addresses(f.sip).has_value());
}

bool is_signed(const SasFields& fields, const Account& account) {
  const std::string text = is_account_sas(fields) ? account_sas_string_to_sign(fields, account.name)
                                                  : table_sas_string_to_sign(fields, account.name);
  return std::any_of(account.keys.begin(), account.keys.end(), [&](const std::string& key) {
    return equal_in_constant_time(fields.sig, sign(account.hmac, key, text));
  });
}

// Returns times and permissions, each from the stored policy that the fields name or from the
// fields themselves.
Result<AccessPolicy> terms_of(const SasFields& fields, const FindPolicy& find_policy) {
  AccessPolicy terms;
  if (!fields.si.empty()) {
    auto stored = find_policy(fields.tn, fields.si);
    if (!stored.has_value()) return failed();
    terms = std::move(*stored);
  }
  const auto date = [](const std::string& text, std::optional<Ticks>& term) {
    if (text.empty()) return true;
    if (term.has_value()) return false;  // the stored policy gives it too
    term = parse_policy_date(text);
    return term.has_value();
  };
  if (!date(fields.st, terms.start) || !date(fields.se, terms.expiry)) return failed();
  if (!fields.sp.empty()) {
    if (terms.permission.has_value()) return failed();
    terms.permission = fields.sp;
  }
  return terms;
}

bool holds_at(const AccessPolicy& terms, Ticks now) {
  return terms.expiry.has_value() && now < *terms.expiry &&
         (!terms.start.has_value() || *terms.start <= now);
}

Error source_ip_mismatch(std::string_view client) {
  return Error(ErrorCode::source_ip_mismatch,
               "This request is not authorized to perform this operation using this source IP " +
                   std::string(client) + ".");
}

// ---- Restricting filters ------------------------------------------------------------------------

std::uint32_t last_node(const Filter& filter) {
  return static_cast<std::uint32_t>(filter.nodes.size() - 1);
}

// add_comparison, join and add_bound each append a subtree, whose root is then the filter's last
// node (the layout of core/filter/ast.h).
void add_comparison(Filter& filter, std::string_view property, CompareOp op,
                    const std::string& text) {
  FilterNode node{FilterKind::comparison};
  node.op = op;
  node.property = property;
  node.literal = Value::of_string(text);
  filter.nodes.push_back(std::move(node));
  ++filter.comparisons;
}

void join(Filter& filter, FilterKind kind, std::uint32_t left) {
  FilterNode node{kind};
  node.left = left;
  node.right = last_node(filter);
  filter.nodes.push_back(std::move(node));
}

// Adds one end of the range. For the lower end `beyond` is gt and `up_to` is ge: PartitionKey gt
// 'p' or (PartitionKey eq 'p' and RowKey ge 'r'). For the upper end they are lt and le.
void add_bound(Filter& filter, const std::string& partition, const std::string& row,
               CompareOp beyond, CompareOp up_to) {
  if (row.empty()) return add_comparison(filter, "PartitionKey", up_to, partition);
  add_comparison(filter, "PartitionKey", beyond, partition);
  const std::uint32_t other_partitions = last_node(filter);
  add_comparison(filter, "PartitionKey", CompareOp::eq, partition);
  const std::uint32_t this_partition = last_node(filter);
  add_comparison(filter, "RowKey", up_to, row);
  join(filter, FilterKind::all_of, this_partition);
  join(filter, FilterKind::any_of, other_partitions);
}

}  // namespace

bool SasKeyRange::contains(const KeyView& key) const {
  if (!first_partition.empty()) {
    const int order = compare_utf16(key.partition, first_partition);
    if (order < 0 || (order == 0 && compare_utf16(key.row, first_row) < 0)) return false;
  }
  if (!last_partition.empty()) {
    const int order = compare_utf16(key.partition, last_partition);
    if (order > 0) return false;
    if (order == 0 && !last_row.empty() && compare_utf16(key.row, last_row) > 0) return false;
  }
  return true;
}

Filter SasKeyRange::restrict_filter(Filter filter) const {
  const auto add = [&](const std::string& partition, const std::string& row, CompareOp beyond,
                       CompareOp up_to) {
    if (partition.empty()) return;
    const bool first = filter.empty();
    const std::uint32_t before = first ? 0 : last_node(filter);
    add_bound(filter, partition, row, beyond, up_to);
    if (!first) join(filter, FilterKind::all_of, before);
  };
  add(first_partition, first_row, CompareOp::gt, CompareOp::ge);
  add(last_partition, last_row, CompareOp::lt, CompareOp::le);
  return filter;
}

Result<std::optional<SasFields>> parse_sas_fields(std::string_view raw_query, bool plus_is_space) {
  SasFields fields;
  bool seen[std::size(sas_fields)] = {};
  bool malformed = false;
  while (!raw_query.empty()) {
    const std::string_view pair = raw_query.substr(0, raw_query.find('&'));
    raw_query.remove_prefix(std::min(pair.size() + 1, raw_query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decode(pair.substr(0, equals));
    for (std::size_t i = 0; name.has_value() && i < std::size(sas_fields); ++i) {
      if (*name != sas_fields[i].name) continue;
      auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), plus_is_space);
      malformed = malformed || seen[i] || !value.has_value() || !is_one_line(*value);
      seen[i] = true;
      if (value.has_value()) fields.*sas_fields[i].value = std::move(*value);
    }
  }
  if (fields.sig.empty()) return std::optional<SasFields>();
  if (malformed) return failed();
  std::replace(fields.sig.begin(), fields.sig.end(), ' ', '+');
  return std::optional<SasFields>(std::move(fields));
}

Result<SasGrant> verify_sas(const SasFields& fields, const Account& account,
                            const FindPolicy& find_policy, const SasRequestContext& caller) {
  if (!is_well_formed(fields) || !is_signed(fields, account)) return failed();
  Result<AccessPolicy> terms = terms_of(fields, find_policy);
  if (!terms.ok()) return terms.error();
  if (!holds_at(*terms, caller.now)) return failed();
  if (fields.spr == "https" && !caller.secure) return Error(ErrorCode::protocol_mismatch);
  if (!fields.sip.empty() && !caller.client_ip.empty() &&
      !is_among(caller.client_ip, *parse_addresses(fields.sip))) {
    return source_ip_mismatch(caller.client_ip);
  }
  SasGrant grant;
  grant.whole_account = is_account_sas(fields);
  grant.table = fields.tn;
  grant.permissions = std::move(terms->permission).value_or(std::string());
  grant.services = fields.ss;
  grant.resource_types = fields.srt;
  if (!grant.whole_account) grant.keys = {fields.spk, fields.srk, fields.epk, fields.erk};
  return grant;
}

}  // namespace entitable::rest
