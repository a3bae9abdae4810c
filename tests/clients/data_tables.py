"""azure.data.tables, the Python member of the current family of clients, against `entitable serve`."""

import json
import math
import unittest
from datetime import datetime, timezone

from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import (
    AccountSasPermissions,
    EdmType,
    EntityProperty,
    ResourceTypes,
    TableAccessPolicy,
    TableAnalyticsLogging,
    TableClient,
    TableCorsRule,
    TableMetrics,
    TableRetentionPolicy,
    TableSasPermissions,
    TableServiceClient,
    TableTransactionError,
    UpdateMode,
    generate_account_sas,
    generate_table_sas,
)

import checks

CREDENTIAL = AzureNamedKeyCredential(checks.ACCOUNT, checks.KEY)


class Checks(unittest.TestCase):
    """A client of the account, and a table of the check's own."""

    def setUp(self):
        self.service = TableServiceClient.from_connection_string(checks.CONNECTION, retry_total=0)
        self.name = "t" + self.id().rsplit(".", 1)[1].replace("_", "")
        self.table = self.service.create_table(self.name)

    def tearDown(self):
        self.service.delete_table(self.name)
        self.service.close()

    def refused(self, status, code):
        return Refused(self, status, code)

    def insert(self, partition, row, **properties):
        return self.table.create_entity({"PartitionKey": partition, "RowKey": row, **properties})

    def with_sas(self, sas):
        return TableClient(checks.URL, self.name, credential=AzureSasCredential(sas), retry_total=0)


def code_of(error):
    """The code of the service, which some methods of the client decode into the error, and some don't."""
    code = getattr(error, "error_code", None) or json.loads(error.response.text())["odata.error"]["code"]
    return getattr(code, "value", code)


class Refused:
    """A block whose last request the server has to refuse."""

    def __init__(self, test, status, code):
        self.test, self.expected = test, (status, code)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.test.assertIsInstance(error, HttpResponseError, f"expected {self.expected}, got {error!r}")
        self.test.assertEqual((error.status_code, code_of(error)), self.expected)
        self.error = error
        return True


class Tables(Checks):
    def test_are_created_once(self):
        with self.refused(409, "TableAlreadyExists"):
            self.service.create_table(self.name)
        self.service.create_table_if_not_exists(self.name)

    def test_are_listed_page_by_page(self):
        names = [f"{self.name}{letter}" for letter in "abc"]
        for name in names:
            self.service.create_table(name)
        within = "TableName gt @first and TableName lt @last"
        parameters = {"first": self.name, "last": self.name + "z"}
        pages = self.service.query_tables(within, parameters=parameters, results_per_page=2).by_page()
        self.assertEqual([[table.name for table in page] for page in pages], [names[:2], names[2:]])
        self.assertIn(self.name, [table.name for table in self.service.list_tables()])
        for name in names:
            self.service.delete_table(name)

    def test_that_are_not_there(self):
        other = self.service.get_table_client("absent")
        with self.refused(404, "TableNotFound"):
            other.create_entity({"PartitionKey": "p", "RowKey": "r"})
        with self.refused(404, "ResourceNotFound"):
            other._client.table.delete("absent")
        other.delete_table()  # passes over what is not there

    def test_have_ruled_names(self):
        with self.assertRaises(ValueError):
            self.service.create_table("1st")


class Entities(Checks):
    def test_keep_every_type(self):
        written = {
            "PartitionKey": "types",
            "RowKey": "all",
            "string": checks.STRING,
            "empty": "",
            "int32": -2 ** 31,
            "int64": EntityProperty(2 ** 63 - 1, EdmType.INT64),
            "whole": 3.0,
            "fraction": -0.1,
            "large": 1.7976931348623157e308,
            "infinity": math.inf,
            "negative": -math.inf,
            "yes": True,
            "no": False,
            "guid": checks.GUID,
            "when": checks.WHEN,
            "bytes": bytes([0, 1, 254, 255]),
        }
        self.table.create_entity({**written, "nan": math.nan})
        read = self.table.get_entity("types", "all")
        self.assertTrue(math.isnan(read.pop("nan")))
        self.assertIsInstance(read["whole"], float)
        self.assertEqual(dict(read), written)
        self.assertIsInstance(read.metadata["timestamp"], datetime)
        self.table.update_entity(read, mode=UpdateMode.REPLACE)
        self.assertEqual(dict(self.table.get_entity("types", "all")), written)

    def test_keep_all_of_a_date(self):
        text = "2016-02-29T23:59:59.9876543Z"
        self.insert("p", "r", when=EntityProperty(text, EdmType.DATETIME))
        self.assertEqual(self.table.get_entity("p", "r")["when"].tables_service_value, text)

    def test_are_found_by_odd_keys(self):
        for key in checks.ODD_KEYS + [""]:
            with self.subTest(key=key):
                self.insert(key, key, key=key)
                self.assertEqual(self.table.get_entity(key, key)["key"], key)
                merged = {"PartitionKey": key, "RowKey": key, "more": 1}
                self.table.update_entity(merged, mode=UpdateMode.MERGE)
                found = list(self.table.query_entities("RowKey eq @key and more eq 1", parameters={"key": key}))
                self.assertEqual([row["key"] for row in found], [key])
                self.table.delete_entity(key, key)
        self.assertEqual(list(self.table.list_entities()), [])

    def test_are_refused(self):
        self.insert("p", "r")
        with self.refused(409, "EntityAlreadyExists"):
            self.insert("p", "r")
        with self.refused(404, "ResourceNotFound"):
            self.table.get_entity("p", "absent")
        with self.refused(404, "ResourceNotFound"):
            self.table.update_entity({"PartitionKey": "p", "RowKey": "absent"})
        with self.refused(400, "OutOfRangeInput"):
            self.insert("p", "a/b")
        with self.refused(400, "PropertyValueTooLarge"):
            self.insert("p", "long", s="x" * (32 * 1024 + 1))
        with self.refused(400, "PropertyNameInvalid"):
            self.insert("p", "named", **{"not-a-name": 1})
        self.table.delete_entity("p", "absent")  # passes over what is not there

    def test_are_merged_and_replaced(self):
        self.insert("p", "r", a=1, b=1)
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "b": 2}, mode=UpdateMode.MERGE)
        self.assertEqual(dict(self.table.get_entity("p", "r")), {"PartitionKey": "p", "RowKey": "r", "a": 1, "b": 2})
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "c": 3}, mode=UpdateMode.REPLACE)
        self.assertEqual(dict(self.table.get_entity("p", "r")), {"PartitionKey": "p", "RowKey": "r", "c": 3})

    def test_are_upserted(self):
        for row in ("r", "r"):
            self.table.upsert_entity({"PartitionKey": "p", "RowKey": row, "a": 1}, mode=UpdateMode.MERGE)
        self.table.upsert_entity({"PartitionKey": "p", "RowKey": "r", "b": 2}, mode=UpdateMode.MERGE)
        self.assertEqual(self.table.get_entity("p", "r")["a"], 1)
        self.table.upsert_entity({"PartitionKey": "p", "RowKey": "r", "c": 3}, mode=UpdateMode.REPLACE)
        self.assertNotIn("a", self.table.get_entity("p", "r"))

    def test_change_on_condition(self):
        old = self.insert("p", "r", a=1)["etag"]
        entity = {"PartitionKey": "p", "RowKey": "r", "a": 2}
        condition = {"match_condition": MatchConditions.IfNotModified}
        new = self.table.update_entity(entity, mode=UpdateMode.REPLACE, etag=old, **condition)["etag"]
        self.assertNotEqual(old, new)
        for mode in UpdateMode:
            with self.refused(412, "UpdateConditionNotSatisfied"):
                self.table.update_entity(entity, mode=mode, etag=old, **condition)
        with self.refused(412, "UpdateConditionNotSatisfied"):
            self.table.delete_entity("p", "r", etag=old, **condition)
        self.assertEqual(self.table.get_entity("p", "r").metadata["etag"], new)
        self.table.delete_entity("p", "r", etag=new, **condition)
        self.assertEqual(list(self.table.list_entities()), [])


class Queries(Checks):
    def test_filter_by_every_type(self):
        when = datetime(2020, 1, 1, tzinfo=timezone.utc)
        long = EntityProperty(2 ** 32, EdmType.INT64)
        typed = {"s": "it's", "i": 5, "l": long, "d": 2.5, "b": True, "g": checks.GUID, "t": when, "x": b"\x01\xab"}
        self.insert("p", "here", **typed)
        self.insert("p", "there", s="other", i=-5)
        filters = [
            ("s eq @v", "it's"),
            ("i gt @v", 4),
            ("l ge @v", 2 ** 32),
            ("d lt @v", 2.75),
            ("b eq @v", True),
            ("g eq @v", checks.GUID),
            ("t le @v", when),
            ("x eq @v", b"\x01\xab"),
            ("s ne 'other' and i ge @v", 5),
            ("(s eq 'nothing' or s eq 'it''s') and not (i le @v )", 0),
        ]
        for text, value in filters:
            with self.subTest(filter=text):
                found = self.table.query_entities(text, parameters={"v": value})
                self.assertEqual([row["RowKey"] for row in found], ["here"])
        with self.refused(400, "InvalidInput"):
            list(self.table.query_entities("i eq"))

    def test_select(self):
        self.insert("p", "r", a=1, b="b")
        rows = self.table.list_entities(select=["b", "absent"])
        self.assertEqual([dict(row) for row in rows], [{"b": "b", "absent": None}])
        self.assertEqual(dict(self.table.get_entity("p", "r", select=["RowKey", "a"])), {"RowKey": "r", "a": 1})

    def test_come_in_pages_over_partitions(self):
        keys = [(f"p {letter}é", f"{row:03}") for letter in "abcdefghijkl" for row in range(100)]
        for start in range(0, len(keys), 100):
            group = [("create", {"PartitionKey": p, "RowKey": r}) for p, r in keys[start:start + 100]]
            self.table.submit_transaction(group)
        for size, sizes in ((None, [1000, 200]), (450, [450, 450, 300])):
            pages = [list(page) for page in self.table.list_entities(results_per_page=size).by_page()]
            self.assertEqual([len(page) for page in pages], sizes)
            self.assertEqual([(row["PartitionKey"], row["RowKey"]) for page in pages for row in page], keys)
        first = self.table.list_entities(results_per_page=700).by_page()
        next(first)
        rest = self.table.list_entities().by_page(continuation_token=first.continuation_token)
        self.assertEqual(len(list(next(rest))), 500)


class Transactions(Checks):
    def test_do_every_operation(self):
        for row in ("merged", "replaced", "deleted"):
            self.insert("p's", row, a=1, b="ü")

        def entity(row, **properties):
            return {"PartitionKey": "p's", "RowKey": row, **properties}

        metadata = self.table.submit_transaction([
            ("create", entity("created", s="😀 \r\n--batch", d=2.0)),
            ("update", entity("merged", a=2), {"mode": "merge"}),
            ("update", entity("replaced", a=2), {"mode": "replace"}),
            ("delete", entity("deleted")),
            ("upsert", entity("upserted", a=2), {"mode": "merge"}),
            ("upsert", entity("put", a=2), {"mode": "replace"}),
        ])
        self.assertEqual(["etag" in part for part in metadata], [True, True, True, False, True, True])
        rows = {row["RowKey"]: row for row in self.table.list_entities()}
        self.assertEqual(sorted(rows), ["created", "merged", "put", "replaced", "upserted"])
        self.assertEqual((rows["created"]["s"], rows["created"]["d"]), ("😀 \r\n--batch", 2.0))
        self.assertEqual((rows["merged"]["b"], "b" in rows["replaced"]), ("ü", False))

    def test_take_a_hundred_operations(self):
        group = [("upsert", {"PartitionKey": "p", "RowKey": str(row)}) for row in range(101)]
        self.assertEqual(len(self.table.submit_transaction(group[:100])), 100)
        with self.refused(400, "InvalidInput") as refusal:
            self.table.submit_transaction(group)
        self.assertIsInstance(refusal.error, TableTransactionError)

    def test_fail_as_one(self):
        self.insert("p", "there")
        rows = [("create", {"PartitionKey": "p", "RowKey": row}) for row in ("new", "newer", "there")]
        with self.refused(409, "EntityAlreadyExists") as refusal:
            self.table.submit_transaction(rows)
        self.assertEqual((type(refusal.error), refusal.error.index), (TableTransactionError, 2))
        self.assertEqual([row["RowKey"] for row in self.table.list_entities()], ["there"])

    def test_have_conditions(self):
        etag = self.insert("p", "r", a=1)["etag"]
        update = ("update", {"PartitionKey": "p", "RowKey": "r", "a": 2},
                  {"etag": etag, "match_condition": MatchConditions.IfNotModified})
        self.table.submit_transaction([update])
        with self.refused(412, "UpdateConditionNotSatisfied"):
            self.table.submit_transaction([update])


class SharedAccess(Checks):
    def signed(self, permission, **rest):
        permission = TableSasPermissions(_str=permission)
        rest.setdefault("expiry", checks.from_now(1))
        return self.with_sas(generate_table_sas(CREDENTIAL, self.name, permission=permission, **rest))

    def test_allows_what_was_signed(self):
        adder = self.signed("ra")
        adder.create_entity({"PartitionKey": "o'p", "RowKey": "r", "a": 1})
        self.assertEqual(adder.get_entity("o'p", "r")["a"], 1)
        adder.submit_transaction([("create", {"PartitionKey": "q", "RowKey": "r"})])
        with self.refused(403, "AuthorizationPermissionMismatch"):
            adder.delete_entity("o'p", "r")
        with self.refused(403, "AuthenticationFailed"):
            self.signed("r", expiry=checks.from_now(-1)).get_entity("o'p", "r")
        with self.refused(403, "AuthorizationProtocolMismatch"):
            self.signed("r", protocol="https").get_entity("o'p", "r")

    def test_keeps_to_its_range_of_keys(self):
        for partition, row in ("a1", "b1", "b5", "c1", "c9", "d1"):
            self.insert(partition, row)
        reader = self.signed("raud", start_pk="b", start_rk="5", end_pk="c", end_rk="5")
        seen = [row["PartitionKey"] + row["RowKey"] for row in reader.list_entities()]
        self.assertEqual(seen, ["b5", "c1"])
        reader.upsert_entity({"PartitionKey": "b", "RowKey": "6"})
        with self.refused(403, "AuthorizationFailure"):
            reader.upsert_entity({"PartitionKey": "d", "RowKey": "6"})

    def test_goes_by_stored_policies(self):
        start, expiry = datetime(2020, 1, 1, tzinfo=timezone.utc), checks.from_now(1)
        policy = TableAccessPolicy(start=start, expiry=expiry, permission="r")
        self.table.set_table_access_policy({"reading it": policy, "empty": None})
        stored = self.table.get_table_access_policy()
        self.assertEqual(set(stored), {"reading it", "empty"})
        self.assertEqual(stored["reading it"].permission, "r")
        self.assertEqual(stored["reading it"].start, start)
        reader = self.with_sas(generate_table_sas(CREDENTIAL, self.name, policy_id="reading it"))
        self.assertEqual(list(reader.list_entities()), [])
        with self.refused(403, "AuthorizationPermissionMismatch"):
            reader.create_entity({"PartitionKey": "p", "RowKey": "r"})
        self.table.set_table_access_policy({})
        with self.refused(403, "AuthenticationFailed"):
            list(reader.list_entities())

    def test_to_the_account(self):
        def sas(permission, **rest):
            permission = AccountSasPermissions.from_string(permission)
            return generate_account_sas(CREDENTIAL, ResourceTypes(object=True), permission, checks.from_now(1), **rest)

        self.with_sas(sas("a")).create_entity({"PartitionKey": "p", "RowKey": "r"})
        self.assertEqual(len(list(self.with_sas(sas("r")).list_entities())), 1)
        with self.refused(403, "AuthorizationPermissionMismatch"):
            self.with_sas(sas("r")).delete_entity("p", "r")
        with self.refused(403, "AuthorizationSourceIPMismatch"):
            self.with_sas(sas("r", ip_address_or_range="203.0.113.1-203.0.113.7")).get_entity("p", "r")
        objects = TableServiceClient(checks.URL, credential=AzureSasCredential(sas("rwdlacu")))
        with self.refused(403, "AuthorizationResourceTypeMismatch"):
            objects.create_table("another")

    def test_needs_the_right_key(self):
        wrong = AzureNamedKeyCredential(checks.ACCOUNT, "d3Jvbmc=")
        with self.refused(403, "AuthenticationFailed"):
            TableClient(checks.URL, self.name, credential=wrong).get_entity("p", "r")


class Service(Checks):
    def test_keeps_its_properties(self):
        kept = TableRetentionPolicy(enabled=True, days=7)
        self.service.set_service_properties(
            analytics_logging=TableAnalyticsLogging(read=True, write=False, delete=True, retention_policy=kept),
            hour_metrics=TableMetrics(enabled=True, include_apis=True, retention_policy=kept),
            minute_metrics=TableMetrics(enabled=False),
            cors=[TableCorsRule(["https://a.example", "https://b.example"], ["GET", "PUT"], max_age_in_seconds=60,
                                allowed_headers=["x-ms-meta-*"], exposed_headers=["x-ms-*"])],
        )
        read = self.service.get_service_properties()
        logging, hours, rules = read["analytics_logging"], read["hour_metrics"], read["cors"]
        self.assertEqual((logging.read, logging.write, logging.delete), (True, False, True))
        self.assertEqual(logging.retention_policy.days, 7)
        self.assertEqual((hours.enabled, hours.include_apis), (True, True))
        self.assertFalse(read["minute_metrics"].enabled)
        self.assertEqual(len(rules), 1)
        self.assertEqual(rules[0].allowed_origins, ["https://a.example", "https://b.example"])
        self.assertEqual(rules[0].max_age_in_seconds, 60)

    def test_is_there_under_the_name_of_its_host(self):
        with TableServiceClient(checks.HOST_URL, credential=CREDENTIAL) as service:
            table = service.get_table_client(self.name)
            table.create_entity({"PartitionKey": "p", "RowKey": "ü"})
            table.submit_transaction([("delete", {"PartitionKey": "p", "RowKey": "ü"})])
            self.assertEqual(list(self.table.list_entities()), [])
            sas = generate_table_sas(CREDENTIAL, self.name, permission="r", expiry=checks.from_now(1))
            reader = TableClient(checks.HOST_URL, self.name, credential=AzureSasCredential(sas))
            self.assertEqual(list(reader.list_entities()), [])

    def test_tells_of_its_secondary(self):
        with TableServiceClient(checks.HOST_URL, credential=CREDENTIAL) as service:
            stats = service.get_service_stats()["geo_replication"]
        self.assertEqual(stats["status"], "live")
        self.assertIsInstance(stats["last_sync_time"], datetime)

    def test_reads_from_the_secondary(self):
        self.insert("p", "r", a=1)
        for url in (checks.URL, checks.HOST_URL):
            there = TableClient(url, self.name, credential=CREDENTIAL, location_mode="secondary", retry_total=0)
            self.assertEqual(there.get_entity("p", "r")["a"], 1)
            with self.refused(403, "InsufficientAccountPermissions"):
                there.upsert_entity({"PartitionKey": "p", "RowKey": "r"})

    def test_is_there_over_https(self):
        secure = {"credential": CREDENTIAL, "connection_verify": checks.CERTIFICATE}
        with TableServiceClient(checks.SECURE_URL, **secure) as service:
            table = service.create_table_if_not_exists("secure")
            table.upsert_entity({"PartitionKey": "p", "RowKey": "ü"})
            self.assertEqual([row["RowKey"] for row in table.list_entities()], ["ü"])


if __name__ == "__main__":
    checks.main()
