#include "core/query/service_plan.h"

#include "tests/core/query/query_testing.h"

using namespace entitable;
using namespace entitable::test;

TEST_CASE("the kind and the range of the service's plans") {
  const EntityKey start;
  const auto table_from = [](EntityKey lower, std::optional<EntityKey> upper) {
    return KeyRange{std::move(lower), std::move(upper)};
  };
  struct Case {
    const char* filter;
    PlanKind kind;
    KeyRange range;
  };
  for (const Case& one : {
           Case{"", PlanKind::table, {}},
           Case{"Age gt 3", PlanKind::table, {}},
           Case{"RowKey eq '1'", PlanKind::table, {}},
           Case{"PartitionKey eq 'S'", PlanKind::partition, KeyRange::partition("S")},
           Case{"PartitionKey eq 'S' and Age gt 3", PlanKind::partition, KeyRange::partition("S")},
           Case{"PartitionKey eq 'S' and RowKey eq '1'", PlanKind::point,
                KeyRange::point({"S", "1"})},
           Case{"PartitionKey eq 'S' and RowKey ge '1'", PlanKind::range,
                table_from(EntityKey("S", "1"), EntityKey(successor("S"), ""))},
           Case{"PartitionKey eq 'S' and RowKey lt '1'", PlanKind::range,
                table_from(EntityKey("S", ""), EntityKey("S", "1"))},
           Case{"PartitionKey eq 'S' and RowKey ne '1'", PlanKind::partition,
                KeyRange::partition("S")},
           Case{"PartitionKey eq 'S' and (RowKey eq '1' or RowKey eq '2')", PlanKind::partition,
                KeyRange::partition("S")},
           Case{"PartitionKey eq 'S' and not (RowKey lt '1')", PlanKind::partition,
                KeyRange::partition("S")},
           Case{"PartitionKey gt 'S'", PlanKind::table,
                table_from(EntityKey(successor("S"), ""), std::nullopt)},
           Case{"PartitionKey ge 'S' and PartitionKey lt 'T' and RowKey eq '1'", PlanKind::table,
                table_from(EntityKey("S", ""), EntityKey("T", ""))},
           Case{"PartitionKey le 'S' and PartitionKey ge 'S'", PlanKind::partition,
                KeyRange::partition("S")},
           Case{"not (PartitionKey ne 'S')", PlanKind::table, {}},
           Case{"PartitionKey eq 'S' or PartitionKey eq 'T'", PlanKind::table, {}},
           Case{"PartitionKey eq 3", PlanKind::table, {}},
           Case{"PartitionKey eq 'S' and RowKey eq 3", PlanKind::partition,
                KeyRange::partition("S")},
       }) {
    CAPTURE(one.filter);
    const ServicePlan plan = make_service_plan(filter_of(one.filter));
    CHECK(plan.kind == one.kind);
    CHECK(plan.range == one.range);
  }
}

TEST_CASE("contradictions read nothing") {
  for (const char* filter : {"PartitionKey eq 'a' and PartitionKey eq 'b'",
                             "PartitionKey gt 'a' and PartitionKey lt 'a'",
                             "PartitionKey eq 'a' and RowKey gt 'b' and RowKey lt 'b'"}) {
    CAPTURE(filter);
    CHECK(make_service_plan(filter_of(filter)).kind == PlanKind::empty);
  }
  CHECK(make_service_plan(filter_of("RowKey gt 'b' and RowKey lt 'b'")).kind == PlanKind::table);
}
