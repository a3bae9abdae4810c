// Checks authorization: stored access policies, shared access signatures, keys, connection strings
// and tokens.

import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  type SignedIdentifier,
  TableClient,
  TableServiceClient,
} from "@azure/data-tables";
import { equal } from "../equal.ts";
import { all, assertRejected, type Check, type CheckContext } from "./environment.ts";

const year = 365 * 24 * 3600 * 1000;
const rights = { query: true, add: true, update: true, delete: true };

// Creates a table in the locked account, with rows 1 and 2 in each of the partitions a, b and c.
async function grid(context: CheckContext): Promise<TableClient> {
  const table = await context.newTable(context.environment.locked);
  for (const partitionKey of ["a", "b", "c"]) {
    for (const rowKey of ["1", "2"]) await table.createEntity({ partitionKey, rowKey });
  }
  return table;
}

// Returns a client whose only credential is this signature.
function holder(context: CheckContext, table: string, sas: string): TableClient {
  return context.table(table, {
    ...context.environment.locked,
    credential: new AzureSASCredential(sas),
  });
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
    async run(context) {
      const table = await context.newTable();
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
      await assertRejected(table.setAccessPolicy(six), 400, "InvalidXmlDocument");
    },
  },
  {
    name: "a table's SAS permits its operations, on that table, until it expires",
    async run(context) {
      const table = (await grid(context)).tableName;
      const { key, signer } = context.environment;
      const sign = (options?: Parameters<typeof signer.tableSas>[2]) =>
        signer.tableSas(table, key, options);
      const reader = holder(context, table, sign());
      equal(await keysOf(reader), "a1 a2 b1 b2 c1 c2");
      await assertRejected(reader.deleteEntity("a", "1"), ...unpermitted);
      const writer = holder(context, table, sign({ permissions: { add: true, delete: true } }));
      await writer.createEntity({ partitionKey: "d", rowKey: "1" });
      await writer.deleteEntity("d", "1");
      await assertRejected(writer.getEntity("a", "1"), ...unpermitted);
      await assertRejected(writer.upsertEntity({ partitionKey: "d", rowKey: "1" }), ...unpermitted);
      await writer.submitTransaction([["create", { partitionKey: "e", rowKey: "1" }]]);
      const other = await context.newTable(context.environment.locked);
      const stranger = holder(context, other.tableName, sign());
      await assertRejected(all(stranger.listEntities()), ...outside);
      const forged = sign().replace(/sig=.{4}/, "sig=AAAA");
      await assertRejected(holder(context, table, forged).getEntity("a", "1"), ...denied);
      const now = Date.now();
      const past = sign({ permissions: rights, expiresOn: new Date(now - year) });
      await assertRejected(holder(context, table, past).getEntity("a", "1"), ...denied);
      const startsOn = new Date(now + year);
      const future = sign({ startsOn, expiresOn: new Date(now + 2 * year) });
      await assertRejected(holder(context, table, future).getEntity("a", "1"), ...denied);
    },
  },
  {
    name: "a table's SAS is limited to a range of keys",
    async run(context) {
      const table = (await grid(context)).tableName;
      const { key, signer } = context.environment;
      const within = (range: object) =>
        holder(context, table, signer.tableSas(table, key, { permissions: rights, ...range }));
      const partition = within({ startPartitionKey: "b", endPartitionKey: "b" });
      equal(await keysOf(partition), "b1 b2");
      await partition.updateEntity({ partitionKey: "b", rowKey: "1", v: 1 });
      await assertRejected(partition.getEntity("a", "1"), ...outside);
      await assertRejected(partition.createEntity({ partitionKey: "c", rowKey: "3" }), ...outside);
      const rows = within({
        startPartitionKey: "a",
        startRowKey: "2",
        endPartitionKey: "c",
        endRowKey: "1",
      });
      equal(await keysOf(rows), "a2 b1 b2 c1");
      await assertRejected(rows.deleteEntity("c", "2"), ...outside);
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
    name: "a table's SAS with a stored policy ends with the policy",
    async run(context) {
      const table = (await grid(context)).tableName;
      const { environment } = context;
      const { key, signer } = environment;
      const policy = (expiry: number, permission: string) => ({
        id: "guests",
        accessPolicy: { expiry: new Date(Date.now() + expiry), permission },
      });
      const sas = signer.tableSas(table, key, { identifier: "guests", endPartitionKey: "a" });
      const guest = holder(context, table, sas);
      await assertRejected(guest.getEntity("a", "1"), ...denied);
      await environment.setPolicies(table, [policy(year, "r")]);
      equal(await keysOf(guest), "a1 a2");
      await assertRejected(guest.deleteEntity("a", "1"), ...unpermitted);
      await environment.setPolicies(table, [policy(year, "rd")]);
      await guest.deleteEntity("a", "1");
      await environment.setPolicies(table, [policy(-year, "rd")]);
      await assertRejected(guest.getEntity("a", "2"), ...denied);
      await environment.setPolicies(table, []);
      await assertRejected(guest.getEntity("a", "2"), ...denied);
    },
  },
  {
    name: "an account's SAS permits its operations on its resource types",
    async run(context) {
      const table = await grid(context);
      const { key, locked, signer } = context.environment;
      const account = (options?: Parameters<typeof signer.accountSas>[1]) => ({
        ...locked,
        credential: new AzureSASCredential(signer.accountSas(key, options)),
      });
      const reader = account();
      equal(await keysOf(context.table(table.tableName, reader)), "a1 a2 b1 b2 c1 c2");
      const listed = await all(context.service(reader).listTables());
      equal(
        listed.some(({ name }) => name === table.tableName),
        true,
      );
      await assertRejected(context.service(reader).createTable(context.name()), ...unpermitted);
      await assertRejected(context.service(reader).setProperties({}), ...unpermitted);
      await assertRejected(context.table(table.tableName, reader).getAccessPolicy(), ...outside);
      const rows = account({ permissions: { query: true, list: true }, resourceTypes: "o" });
      equal((await context.table(table.tableName, rows).getEntity("a", "1")).rowKey, "1");
      const mismatch = [403, "AuthorizationResourceTypeMismatch"] as const;
      await assertRejected(all(context.service(rows).listTables()), ...mismatch);
      const blobs = account({ services: { blob: true } });
      const service = [403, "AuthorizationServiceMismatch"] as const;
      await assertRejected(context.table(table.tableName, blobs).getEntity("a", "1"), ...service);
    },
  },
  {
    name: "unsigned requests are rejected",
    async run(context) {
      const { endpoint, options } = context.environment.locked;
      const table = (await grid(context)).tableName;
      const stranger = new TableClient(endpoint, table, options);
      await assertRejected(stranger.getEntity("a", "1"), ...denied);
    },
  },
  {
    name: "both clients accept a connection string with a SAS",
    async run(context) {
      const { key, locked, signer } = context.environment;
      const table = (await grid(context)).tableName;
      const text = `TableEndpoint=${locked.endpoint};SharedAccessSignature=${signer.accountSas(key)}`;
      const client = TableClient.fromConnectionString(text, table, locked.options);
      equal((await client.getEntity("a", "1")).rowKey, "1");
      const service = TableServiceClient.fromConnectionString(text, locked.options);
      const filter = `TableName eq '${table}'`;
      equal((await all(service.listTables({ queryOptions: { filter } }))).length, 1);
    },
  },
  {
    name: "a key authorizes, alone or in a connection string; a wrong key does not",
    async run(context) {
      const { key, locked } = context.environment;
      const credential = new AzureNamedKeyCredential(key.name, key.key);
      const table = await context.newTable({ ...locked, credential });
      const text = `DefaultEndpointsProtocol=https;AccountName=${key.name};AccountKey=${key.key};TableEndpoint=${locked.endpoint}`;
      const client = TableClient.fromConnectionString(text, table.tableName, locked.options);
      await client.createEntity({ partitionKey: "p", rowKey: "o'x \u20ac" });
      const service = TableServiceClient.fromConnectionString(text, locked.options);
      equal(typeof (await service.getProperties()), "object");
      credential.update(key.name, "d3Jvbmc=");
      await assertRejected(table.getEntity("p", "r"), ...denied);
    },
  },
  {
    name: "a token is sent, and accepted if no authorization is required",
    async run(context) {
      const { endpoint, options } = context.environment.account;
      const token = { token: "t", expiresOnTimestamp: Date.now() + year };
      const credential = { getToken: async () => token };
      const service = new TableServiceClient(endpoint, credential, options);
      const name = context.name();
      await service.createTable(name);
      const table = new TableClient(endpoint, name, credential, options);
      await table.createEntity({ partitionKey: "p", rowKey: "r" });
    },
  },
];
