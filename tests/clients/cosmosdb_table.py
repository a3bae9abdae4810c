"""azure.cosmosdb.table, the older Python client, against `entitable serve`."""

import math
import unittest
from datetime import datetime, timezone
from urllib.parse import urlsplit

from azure.common import AzureHttpError
from azure.cosmosdb.table import (
    EdmType,
    Entity,
    EntityProperty,
    TableBatch,
    TablePayloadFormat,
    TablePermissions,
    TableService,
)
from azure.cosmosdb.table.common.models import (
    AccessPolicy,
    AccountPermissions,
    CorsRule,
    LocationMode,
    Logging,
    Metrics,
    Protocol,
    ResourceTypes,
    RetentionPolicy,
)
from azure.cosmosdb.table.models import AzureBatchOperationError, AzureBatchValidationError

import checks

PORT = urlsplit(checks.URL).port


def never(context):
    """How often the client asks again."""


def emulated():
    service = TableService(connection_string=f"UseDevelopmentStorage=true;TableEndpoint=127.0.0.1:{PORT}")
    service.retry = never
    return service


def hosted(protocol="http", port=PORT, **access):
    access = access or {"account_key": checks.KEY}
    suffix = f"core.windows.net:{port}"
    service = TableService(account_name=checks.ACCOUNT, protocol=protocol, endpoint_suffix=suffix, **access)
    service.retry = never
    return service


def key(partition, row, **properties):
    return {"PartitionKey": partition, "RowKey": row, **properties}


def properties_of(entity):
    return {name: value for name, value in entity.items() if name not in ("Timestamp", "etag")}


class Checks(unittest.TestCase):
    """A table of the check's own, `self.name`."""

    def setUp(self):
        self.service = emulated()
        self.name = "t" + self.id().rsplit(".", 1)[1].replace("_", "")
        self.service.create_table(self.name, fail_on_exist=True)

    def tearDown(self):
        self.service.delete_table(self.name, fail_not_exist=True)

    def refused(self, status, code):
        return Refused(self, status, code)

    def get(self, partition, row, **options):
        return self.service.get_entity(self.name, partition, row, **options)

    def insert(self, partition, row, **properties):
        return self.service.insert_entity(self.name, key(partition, row, **properties))

    def rows(self, service=None, **options):
        return list((service or self.service).query_entities(self.name, **options))


class Refused:
    """A block whose last request the server has to refuse."""

    def __init__(self, test, status, code):
        self.test, self.expected = test, (status, code)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.test.assertIsInstance(error, AzureHttpError, f"expected {self.expected}, got {error!r}")
        code = error.code if isinstance(error, AzureBatchOperationError) else error.error_code
        self.test.assertEqual((error.status_code, code), self.expected)
        self.error = error
        return True


class Tables(Checks):
    def test_are_created_and_deleted(self):
        self.assertFalse(self.service.create_table(self.name))
        with self.refused(409, "TableAlreadyExists"):
            self.service.create_table(self.name, fail_on_exist=True)
        self.assertTrue(self.service.exists(self.name))
        self.assertFalse(self.service.exists("absent"))
        self.assertFalse(self.service.delete_table("absent"))
        with self.refused(404, "ResourceNotFound"):
            self.service.delete_table("absent", fail_not_exist=True)
        with self.refused(404, "TableNotFound"):
            self.service.insert_entity("absent", key("p", "r"))
        with self.refused(400, "InvalidResourceName"):
            self.service.create_table("1st")

    def test_are_listed_page_by_page(self):
        names = [f"{self.name}{letter}" for letter in "abc"]
        for name in names:
            self.service.create_table(name)
        first = self.service.list_tables(num_results=2)
        listed = [table.name for table in first]
        while first.next_marker:
            first = self.service.list_tables(num_results=2, marker=first.next_marker)
            listed += [table.name for table in first]
        self.assertEqual([name for name in listed if name.startswith(self.name)], [self.name] + names)
        for name in names:
            self.service.delete_table(name)


class Entities(Checks):
    def test_keep_every_type(self):
        typed = {
            "int32": EntityProperty(EdmType.INT32, -2 ** 31),
            "guid": EntityProperty(EdmType.GUID, str(checks.GUID)),
            "bytes": EntityProperty(EdmType.BINARY, bytes([0, 1, 254, 255])),
        }
        plain = {
            "string": checks.STRING,
            "empty": "",
            "int64": 2 ** 63 - 1,
            "whole": 3.0,
            "fraction": -0.1,
            "large": 1.7976931348623157e308,
            "infinity": math.inf,
            "negative": -math.inf,
            "yes": True,
            "no": False,
            "when": checks.WHEN.replace(microsecond=0),  # the client sends no more of it
        }
        self.insert("types", "all", nan=math.nan, **plain, **typed)
        for accept in (TablePayloadFormat.JSON_MINIMAL_METADATA, TablePayloadFormat.JSON_FULL_METADATA):
            read = self.get("types", "all", accept=accept)
            self.assertTrue(math.isnan(read.pop("nan")))
            self.assertIsInstance(read["whole"], float)
            self.assertEqual({name: read[name] for name in plain}, plain)
            for name, wanted in typed.items():
                self.assertEqual((read[name].type, read[name].value), (wanted.type, wanted.value))
            self.assertIsInstance(read.Timestamp, datetime)
        bare = self.get("types", "all", accept=TablePayloadFormat.JSON_NO_METADATA)
        self.assertEqual((bare.string, bare.guid, bare.int64), (checks.STRING, str(checks.GUID), str(2 ** 63 - 1)))

    def test_are_found_by_odd_keys(self):
        for odd in checks.ODD_KEYS:
            with self.subTest(key=odd):
                self.insert(odd, odd, key=odd)
                self.assertEqual(self.get(odd, odd).key, odd)
                self.service.merge_entity(self.name, key(odd, odd, more=1))
                text = odd.replace("'", "''")
                found = self.rows(filter=f"PartitionKey eq '{text}' and RowKey eq '{text}' and more eq 1L")
                self.assertEqual([row.key for row in found], [odd])
                self.service.delete_entity(self.name, odd, odd)
        self.assertEqual(self.rows(), [])

    def test_are_refused(self):
        self.insert("p", "r")
        with self.refused(409, "EntityAlreadyExists"):
            self.insert("p", "r")
        for method in (self.service.update_entity, self.service.merge_entity):
            with self.refused(404, "ResourceNotFound"):
                method(self.name, key("p", "absent"))
        with self.refused(404, "ResourceNotFound"):
            self.service.delete_entity(self.name, "p", "absent")
        with self.refused(404, "ResourceNotFound"):
            self.get("p", "absent")
        with self.refused(400, "OutOfRangeInput"):
            self.insert("p", "a/b")
        with self.refused(400, "PropertyValueTooLarge"):
            self.insert("p", "long", s="x" * (32 * 1024 + 1))
        with self.refused(400, "PropertyNameInvalid"):
            self.insert("p", "named", **{"not-a-name": 1})

    def test_are_merged_replaced_and_upserted(self):
        self.insert("p", "r", a=1, b=1)
        self.service.merge_entity(self.name, key("p", "r", b=2))
        self.assertEqual(properties_of(self.get("p", "r")), key("p", "r", a=1, b=2))
        self.service.update_entity(self.name, key("p", "r", c=3))
        self.assertEqual(properties_of(self.get("p", "r")), key("p", "r", c=3))
        self.service.insert_or_merge_entity(self.name, key("p", "r", d=4))
        self.assertEqual(properties_of(self.get("p", "r")), key("p", "r", c=3, d=4))
        self.service.insert_or_replace_entity(self.name, key("p", "r", e=5))
        self.assertEqual(properties_of(self.get("p", "r")), key("p", "r", e=5))
        self.service.insert_or_merge_entity(self.name, key("p", "merged"))
        self.service.insert_or_replace_entity(self.name, key("p", "replaced"))
        self.assertEqual([row.RowKey for row in self.rows()], ["merged", "r", "replaced"])

    def test_change_on_condition(self):
        old = self.insert("p", "r", a=1)
        self.assertEqual(self.get("p", "r").etag, old)
        new = self.service.update_entity(self.name, key("p", "r", a=2), if_match=old)
        for method in (self.service.update_entity, self.service.merge_entity):
            with self.refused(412, "UpdateConditionNotSatisfied"):
                method(self.name, key("p", "r", a=3), if_match=old)
        with self.refused(412, "UpdateConditionNotSatisfied"):
            self.service.delete_entity(self.name, "p", "r", if_match=old)
        newer = self.service.merge_entity(self.name, key("p", "r", a=3), if_match=new)
        self.service.delete_entity(self.name, "p", "r", if_match=newer)
        self.assertEqual(self.rows(), [])


class Queries(Checks):
    def test_filter_by_every_type(self):
        when = datetime(2020, 1, 1, tzinfo=timezone.utc)
        guid, blob = EntityProperty(EdmType.GUID, str(checks.GUID)), EntityProperty(EdmType.BINARY, b"\x01\xab")
        small = EntityProperty(EdmType.INT32, 5)
        self.insert("p", "here", s="it's", i=small, l=2 ** 32, d=2.5, b=True, g=guid, t=when, x=blob)
        self.insert("p", "there", s="other", i=EntityProperty(EdmType.INT32, -5))
        for text in (
            "s eq 'it''s'",
            "i gt 4",
            "l ge 4294967296L",
            "d lt 2.75",
            "b eq true",
            f"g eq guid'{checks.GUID}'",
            "t le datetime'2020-01-01T00:00:00Z'",
            "x eq X'01ab'",
            "x eq binary'01ab'",
            "s ne 'other' and i ge 5",
            "not (i lt 0) and (s eq 'nothing' or s eq 'it''s')",
        ):
            with self.subTest(filter=text):
                self.assertEqual([row.RowKey for row in self.rows(filter=text)], ["here"])
        with self.refused(400, "InvalidInput"):
            self.rows(filter="i eq")

    def test_select(self):
        self.insert("p", "r", a="a", b="b")
        self.assertEqual(properties_of(self.get("p", "r", select="RowKey,a")), {"RowKey": "r", "a": "a"})
        self.assertEqual([properties_of(row) for row in self.rows(select="b")], [{"b": "b"}])

    def test_come_in_pages_over_partitions(self):
        keys = [(f"p {letter}é", f"{row:03}") for letter in "abcdefghijkl" for row in range(100)]
        for start in range(0, len(keys), 100):
            with self.service.batch(self.name) as batch:
                for partition, row in keys[start:start + 100]:
                    batch.insert_entity(key(partition, row))
        self.assertEqual([(row.PartitionKey, row.RowKey) for row in self.rows()], keys)
        page = self.service.query_entities(self.name, num_results=450)
        pages = [list(page)]
        while page.next_marker:
            page = self.service.query_entities(self.name, num_results=450, marker=page.next_marker)
            pages.append(list(page))
        self.assertEqual([len(rows) for rows in pages], [450, 450, 300])
        self.assertEqual([(row.PartitionKey, row.RowKey) for rows in pages for row in rows], keys)


class Batches(Checks):
    def test_do_every_operation(self):
        for row in ("merged", "replaced", "deleted"):
            self.insert("p's", row, a=1, b="ü")
        batch = TableBatch()
        batch.insert_entity(key("p's", "inserted", s="😀 \r\n--batch", d=2.0))
        batch.merge_entity(key("p's", "merged", a=2))
        batch.update_entity(key("p's", "replaced", a=2))
        batch.delete_entity("p's", "deleted")
        batch.insert_or_merge_entity(key("p's", "upserted", a=2))
        batch.insert_or_replace_entity(key("p's", "put", a=2))
        etags = self.service.commit_batch(self.name, batch)
        self.assertEqual([bool(etag) for etag in etags], [True, True, True, False, True, True])
        rows = {row.RowKey: row for row in self.rows()}
        self.assertEqual(sorted(rows), ["inserted", "merged", "put", "replaced", "upserted"])
        self.assertEqual((rows["inserted"].s, rows["inserted"].d), ("😀 \r\n--batch", 2.0))
        self.assertEqual((rows["merged"].b, "b" in rows["replaced"]), ("ü", False))
        self.assertEqual(etags[0], rows["inserted"].etag)

    def test_take_a_hundred_operations(self):
        batch = TableBatch()
        for row in range(100):
            batch.insert_or_replace_entity(key("p", str(row)))
        self.assertEqual(len(self.service.commit_batch(self.name, batch)), 100)
        with self.assertRaises(AzureBatchValidationError):  # by the client
            batch.insert_entity(key("p", "100"))

    def test_fail_as_one(self):
        self.insert("p", "there")
        batch = TableBatch()
        for row in ("new", "newer", "there"):
            batch.insert_entity(key("p", row))
        with self.refused(409, "EntityAlreadyExists") as refusal:
            self.service.commit_batch(self.name, batch)
        self.assertTrue(str(refusal.error).startswith("2:"), str(refusal.error))
        self.assertEqual([row.RowKey for row in self.rows()], ["there"])

    def test_have_conditions(self):
        etag = self.insert("p", "r", a=1)
        for attempt in (1, 2):
            batch = TableBatch()
            batch.merge_entity(key("p", "r", a=2), if_match=etag)
            if attempt == 1:
                self.service.commit_batch(self.name, batch)
            else:
                with self.refused(412, "UpdateConditionNotSatisfied"):
                    self.service.commit_batch(self.name, batch)


class SharedAccess(Checks):
    def signed(self, permission=None, expiry=1, **rest):
        expiry = None if expiry is None else checks.from_now(expiry)
        permission = None if permission is None else TablePermissions(_str=permission)
        sas = self.service.generate_table_shared_access_signature(self.name, permission, expiry, **rest)
        return hosted(sas_token=sas)

    def test_allows_what_was_signed(self):
        adder = self.signed("ra")
        adder.insert_entity(self.name, key("o'p", "r", a=1))
        self.assertEqual(adder.get_entity(self.name, "o'p", "r").a, 1)
        with adder.batch(self.name) as batch:
            batch.insert_entity(key("q", "r"))
        with self.refused(403, "AuthorizationPermissionMismatch"):
            adder.delete_entity(self.name, "o'p", "r")
        with self.refused(403, "AuthenticationFailed"):
            self.rows(self.signed("r", expiry=-1))
        with self.refused(403, "AuthenticationFailed"):
            self.rows(self.signed("r", start=checks.from_now(1), expiry=2))
        with self.refused(403, "AuthorizationSourceIPMismatch"):
            self.rows(self.signed("r", ip="203.0.113.1-203.0.113.7"))
        with self.refused(403, "AuthorizationProtocolMismatch"):
            self.rows(self.signed("r", protocol=Protocol.HTTPS))

    def test_keeps_to_its_range_of_keys(self):
        for partition, row in ("a1", "b1", "b5", "c1", "c9", "d1"):
            self.insert(partition, row)
        reader = self.signed("raud", start_pk="b", start_rk="5", end_pk="c", end_rk="5")
        self.assertEqual([row.PartitionKey + row.RowKey for row in self.rows(reader)], ["b5", "c1"])
        reader.insert_or_replace_entity(self.name, key("b", "6"))
        with self.refused(403, "AuthorizationFailure"):
            reader.insert_or_replace_entity(self.name, key("d", "6"))

    def test_goes_by_stored_policies(self):
        start, expiry = datetime(2020, 1, 1), checks.from_now(1)
        policy = AccessPolicy(TablePermissions.QUERY, expiry, start)
        self.service.set_table_acl(self.name, {"reading it": policy, "empty": AccessPolicy()})
        stored = self.service.get_table_acl(self.name)
        self.assertEqual(set(stored), {"reading it", "empty"})
        self.assertEqual(stored["reading it"].permission, "r")
        self.assertEqual(stored["reading it"].start.replace(tzinfo=None), start)
        reader = self.signed(expiry=None, id="reading it")
        self.assertEqual(self.rows(reader), [])
        with self.refused(403, "AuthorizationPermissionMismatch"):
            reader.insert_entity(self.name, key("p", "r"))
        self.service.set_table_acl(self.name)
        with self.refused(403, "AuthenticationFailed"):
            self.rows(reader)

    def test_to_the_account(self):
        def to(permission, types):
            sas = self.service.generate_account_shared_access_signature(
                ResourceTypes(_str=types), AccountPermissions(_str=permission), checks.from_now(1))
            return hosted(sas_token=sas)

        to("a", "o").insert_entity(self.name, key("p", "r"))
        self.assertEqual(len(self.rows(to("r", "o"))), 1)
        with self.refused(403, "AuthorizationPermissionMismatch"):
            to("r", "o").delete_entity(self.name, "p", "r")
        with self.refused(403, "AuthorizationResourceTypeMismatch"):
            to("rwdlacup", "o").create_table("another", fail_on_exist=True)
        to("rwdlacup", "sco").create_table(self.name)

    def test_needs_the_right_key(self):
        with self.refused(403, "AuthenticationFailed"):
            self.rows(hosted(account_key="d3Jvbmc="))


class Service(Checks):
    def test_keeps_its_properties(self):
        kept = RetentionPolicy(enabled=True, days=7)
        self.service.set_table_service_properties(
            logging=Logging(delete=True, read=True, write=False, retention_policy=kept),
            hour_metrics=Metrics(enabled=True, include_apis=True, retention_policy=kept),
            minute_metrics=Metrics(enabled=False),
            cors=[CorsRule(["https://a.example", "https://b.example"], ["GET", "PUT"], 60, ["x-ms-*"], ["x-ms-meta"])],
        )
        read = self.service.get_table_service_properties()
        self.assertEqual((read.logging.read, read.logging.write, read.logging.delete), (True, False, True))
        self.assertEqual(read.logging.retention_policy.days, 7)
        self.assertEqual((read.hour_metrics.enabled, read.hour_metrics.include_apis), (True, True))
        self.assertFalse(read.minute_metrics.enabled)
        self.assertEqual([rule.allowed_origins for rule in read.cors], [["https://a.example", "https://b.example"]])
        self.service.set_table_service_properties(cors=[])
        self.assertEqual(self.service.get_table_service_properties().cors, [])

    def test_tells_of_its_secondary(self):
        for service in (self.service, hosted()):
            replication = service.get_table_service_stats().geo_replication
            self.assertEqual(replication.status, "live")
            self.assertIsInstance(replication.last_sync_time, datetime)

    def test_reads_from_the_secondary(self):
        self.insert("p", "r", a=1)
        for service in (emulated(), hosted()):
            service.location_mode = LocationMode.SECONDARY
            self.assertEqual(service.get_entity(self.name, "p", "r").a, 1)

    def test_is_there_under_the_name_of_its_host(self):
        service = hosted()
        service.insert_entity(self.name, key("p", "ü 1"))
        with service.batch(self.name) as batch:
            batch.insert_entity(key("p", "ü 2"))
            batch.delete_entity("p", "ü 1")
        self.assertEqual([row.RowKey for row in self.rows(service)], ["ü 2"])

    def test_is_there_over_https(self):
        service = TableService(connection_string=checks.CONNECTION.replace(checks.URL, checks.SECURE_URL))
        service.protocol = "https"
        service.request_session.verify = checks.CERTIFICATE
        service.create_table("secure")
        service.insert_or_replace_entity("secure", Entity(key("p", "ü")))
        self.assertEqual([row.RowKey for row in service.query_entities("secure")], ["ü"])


if __name__ == "__main__":
    checks.main()
