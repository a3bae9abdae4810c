// Who is let in: stored access policies, shared access signatures, keys, connection strings, tokens.

import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  type SignedIdentifier,
  TableClient,
  TableServiceClient,
} from "@azure/data-tables";
import { equal } from "../equal.ts";
import { all, type Bench, type Check, refused } from "./place.ts";

const year = 365 * 24 * 3600 * 1000;
const rights = { query: true, add: true, update: true, delete: true };

// A table of the locked account with rows 1 and 2 in partitions a, b and c.
async function grid(bench: Bench): Promise<TableClient> {
  const table = await bench.newTable(bench.place.locked);
  for (const partitionKey of ["a", "b", "c"]) {
    for (const rowKey of ["1", "2"]) await table.createEntity({ partitionKey, rowKey });
  }
  return table;
}

// Who has nothing but this signature.
function holder(bench: Bench, table: string, sas: string): TableClient {
  return bench.table(table, { ...bench.place.locked, credential: new AzureSASCredential(sas) });
}

async function keysOf(table: TableClient): Promise<string> {
  const found = await all(table.listEntities());
  return found.map(({ partitionKey, rowKey }) => `${partitionKey}${rowKey}`).join(" ");
}

const denied = [403, "AuthenticationFailed"] as const;
const outside = [403, "AuthorizationFailure"] as const;
const unpermitted = [403, "AuthorizationPermissionMismatch"] as const;

export const access: Check[] = [
  {
    name: "access policies are set, read back and cleared",
    async run(bench) {
      const table = await bench.newTable();
      const policies: SignedIdentifier[] = [
        {
          id: "readers & \u20ac",
          accessPolicy: {
            start: new Date("2024-01-02T03:04:05.678Z"),
            expiry: new Date("2034-01-02T03:04:05Z"),
            permission: "r",
          },
        },
        { id: "all", accessPolicy: { permission: "raud" } },
      ];
      equal([...(await table.getAccessPolicy())], []);
      await table.setAccessPolicy(policies);
      const read = await table.getAccessPolicy();
      equal(
        [...read].map(({ id, accessPolicy: one }) => [id, one?.permission, one?.expiry]),
        policies.map(({ id, accessPolicy: one }) => [id, one?.permission, one?.expiry]),
      );
      equal(Math.trunc(Number(read[0]?.accessPolicy?.start) / 1000), 1704164645);
      await table.setAccessPolicy([]);
      equal([...(await table.getAccessPolicy())], []);
      const six = Array.from({ length: 6 }, (_, i) => ({ id: `${i}` }));
      await refused(table.setAccessPolicy(six), 400, "InvalidXmlDocument");
    },
  },
  {
    name: "a table's SAS lets do what it permits, on that table, while it lasts",
    async run(bench) {
      const table = (await grid(bench)).tableName;
      const { key, signer } = bench.place;
      const sign = (options?: Parameters<typeof signer.tableSas>[2]) =>
        signer.tableSas(table, key, options);
      const reader = holder(bench, table, sign());
      equal(await keysOf(reader), "a1 a2 b1 b2 c1 c2");
      await refused(reader.deleteEntity("a", "1"), ...unpermitted);
      const writer = holder(bench, table, sign({ permissions: { add: true, delete: true } }));
      await writer.createEntity({ partitionKey: "d", rowKey: "1" });
      await writer.deleteEntity("d", "1");
      await refused(writer.getEntity("a", "1"), ...unpermitted);
      await refused(writer.upsertEntity({ partitionKey: "d", rowKey: "1" }), ...unpermitted);
      await writer.submitTransaction([["create", { partitionKey: "e", rowKey: "1" }]]);
      const other = await bench.newTable(bench.place.locked);
      await refused(all(holder(bench, other.tableName, sign()).listEntities()), ...denied);
      const forged = sign().replace(/sig=.{4}/, "sig=AAAA");
      await refused(holder(bench, table, forged).getEntity("a", "1"), ...denied);
      const now = Date.now();
      const past = sign({ permissions: rights, expiresOn: new Date(now - year) });
      await refused(holder(bench, table, past).getEntity("a", "1"), ...denied);
      const startsOn = new Date(now + year);
      const future = sign({ startsOn, expiresOn: new Date(now + 2 * year) });
      await refused(holder(bench, table, future).getEntity("a", "1"), ...denied);
    },
  },
  {
    name: "a table's SAS is limited to a range of keys",
    async run(bench) {
      const table = (await grid(bench)).tableName;
      const { key, signer } = bench.place;
      const within = (range: object) =>
        holder(bench, table, signer.tableSas(table, key, { permissions: rights, ...range }));
      const partition = within({ startPartitionKey: "b", endPartitionKey: "b" });
      equal(await keysOf(partition), "b1 b2");
      await partition.updateEntity({ partitionKey: "b", rowKey: "1", v: 1 });
      await refused(partition.getEntity("a", "1"), ...outside);
      await refused(partition.createEntity({ partitionKey: "c", rowKey: "3" }), ...outside);
      const rows = within({
        startPartitionKey: "a",
        startRowKey: "2",
        endPartitionKey: "c",
        endRowKey: "1",
      });
      equal(await keysOf(rows), "a2 b1 b2 c1");
      await refused(rows.deleteEntity("c", "2"), ...outside);
      equal(await keysOf(within({ startPartitionKey: "b" })), "b1 b2 c1 c2");
      equal(await keysOf(within({ endPartitionKey: "a" })), "a1 a2");
      const pages = await all(rows.listEntities().byPage({ maxPageSize: 3 }));
      equal(
        pages.map((page) => page.length),
        [3, 1],
      );
    },
  },
  {
    name: "a table's SAS by a stored policy ends with the policy",
    async run(bench) {
      const table = (await grid(bench)).tableName;
      const { place } = bench;
      const { key, signer } = place;
      const policy = (expiry: number, permission: string) => ({
        id: "guests",
        accessPolicy: { expiry: new Date(Date.now() + expiry), permission },
      });
      const sas = signer.tableSas(table, key, { identifier: "guests", endPartitionKey: "a" });
      const guest = holder(bench, table, sas);
      await refused(guest.getEntity("a", "1"), ...denied);
      await place.setPolicies(table, [policy(year, "r")]);
      equal(await keysOf(guest), "a1 a2");
      await refused(guest.deleteEntity("a", "1"), ...unpermitted);
      await place.setPolicies(table, [policy(year, "rd")]);
      await guest.deleteEntity("a", "1");
      await place.setPolicies(table, [policy(-year, "rd")]);
      await refused(guest.getEntity("a", "2"), ...denied);
      await place.setPolicies(table, []);
      await refused(guest.getEntity("a", "2"), ...denied);
    },
  },
  {
    name: "an account's SAS lets do what it permits with what it names",
    async run(bench) {
      const table = await grid(bench);
      const { key, locked, signer } = bench.place;
      const account = (options?: Parameters<typeof signer.accountSas>[1]) => ({
        ...locked,
        credential: new AzureSASCredential(signer.accountSas(key, options)),
      });
      const reader = account();
      equal(await keysOf(bench.table(table.tableName, reader)), "a1 a2 b1 b2 c1 c2");
      const listed = await all(bench.service(reader).listTables());
      equal(
        listed.some(({ name }) => name === table.tableName),
        true,
      );
      await refused(bench.service(reader).createTable(bench.name()), ...unpermitted);
      await refused(bench.service(reader).setProperties({}), ...unpermitted);
      await refused(bench.table(table.tableName, reader).getAccessPolicy(), ...outside);
      const rows = account({ permissions: { query: true, list: true }, resourceTypes: "o" });
      equal((await bench.table(table.tableName, rows).getEntity("a", "1")).rowKey, "1");
      const mismatch = [403, "AuthorizationResourceTypeMismatch"] as const;
      await refused(all(bench.service(rows).listTables()), ...mismatch);
      const blobs = account({ services: { blob: true } });
      const service = [403, "AuthorizationServiceMismatch"] as const;
      await refused(bench.table(table.tableName, blobs).getEntity("a", "1"), ...service);
    },
  },
  {
    name: "what is not signed is refused",
    async run(bench) {
      const { endpoint, options } = bench.place.locked;
      const table = (await grid(bench)).tableName;
      const stranger = new TableClient(endpoint, table, options);
      await refused(stranger.getEntity("a", "1"), ...denied);
    },
  },
  {
    name: "a connection string with a SAS lets both clients in",
    async run(bench) {
      const { key, locked, signer } = bench.place;
      const table = (await grid(bench)).tableName;
      const text = `TableEndpoint=${locked.endpoint};SharedAccessSignature=${signer.accountSas(key)}`;
      const client = TableClient.fromConnectionString(text, table, locked.options);
      equal((await client.getEntity("a", "1")).rowKey, "1");
      const service = TableServiceClient.fromConnectionString(text, locked.options);
      const filter = `TableName eq '${table}'`;
      equal((await all(service.listTables({ queryOptions: { filter } }))).length, 1);
    },
  },
  {
    name: "a key lets in, by itself or in a connection string; a wrong one doesn't",
    async run(bench) {
      const { key, locked } = bench.place;
      const credential = new AzureNamedKeyCredential(key.name, key.key);
      const table = await bench.newTable({ ...locked, credential });
      const text = `DefaultEndpointsProtocol=https;AccountName=${key.name};AccountKey=${key.key};TableEndpoint=${locked.endpoint}`;
      const client = TableClient.fromConnectionString(text, table.tableName, locked.options);
      await client.createEntity({ partitionKey: "p", rowKey: "o'x \u20ac" });
      const service = TableServiceClient.fromConnectionString(text, locked.options);
      equal(typeof (await service.getProperties()), "object");
      credential.update(key.name, "d3Jvbmc=");
      await refused(table.getEntity("p", "r"), ...denied);
    },
  },
  {
    name: "a token is sent, and let in where nothing is asked for",
    async run(bench) {
      const { endpoint, options } = bench.place.account;
      const token = { token: "t", expiresOnTimestamp: Date.now() + year };
      const credential = { getToken: async () => token };
      const service = new TableServiceClient(endpoint, credential, options);
      const name = bench.name();
      await service.createTable(name);
      const table = new TableClient(endpoint, name, credential, options);
      await table.createEntity({ partitionKey: "p", rowKey: "r" });
    },
  },
];
