// Checks the service's properties and statistics, and what all requests have in common.

import type { ServiceProperties } from "@azure/data-tables";
import { equal } from "../equal.ts";
import { all, assertRejected, type Check, rejectionOf } from "./environment.ts";

const days = { enabled: true, days: 7 };
const properties: ServiceProperties = {
  logging: { version: "1.0", delete: true, read: false, write: true, retentionPolicy: days },
  hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: days },
  minuteMetrics: { version: "1.0", enabled: false, retentionPolicy: { enabled: false } },
  cors: [
    {
      allowedOrigins: "https://shop.example,https://\u00fc.example",
      allowedMethods: "GET,PUT,MERGE",
      allowedHeaders: "x-ms-meta-*,accept",
      exposedHeaders: "*",
      maxAgeInSeconds: 500,
    },
  ],
};

export const service: Check[] = [
  {
    name: "the service's properties are set one by one, and read back",
    async run(context) {
      const client = context.service();
      const look = async () => {
        const { logging, hourMetrics, minuteMetrics, cors } = await client.getProperties();
        return { logging, hourMetrics, minuteMetrics, cors };
      };
      const before = await look();
      await client.setProperties(properties);
      equal(await look(), properties);
      await client.setProperties({ cors: [] });
      equal(await look(), { ...properties, cors: [] });
      const tooMany = Array.from({ length: 6 }, () => properties.cors?.[0] as object);
      await assertRejected(
        client.setProperties({ cors: tooMany } as ServiceProperties),
        400,
        "InvalidXmlDocument",
      );
      await client.setProperties(before);
      equal(await look(), before);
    },
  },
  {
    name: "the service's statistics come from its secondary address",
    async run(context) {
      const { geoReplication } = await context
        .service(context.environment.hostStyle)
        .getStatistics();
      equal(geoReplication?.status, "live");
      equal(geoReplication?.lastSyncTime instanceof Date, true);
    },
  },
  {
    name: "a request has the id that its client set",
    async run(context) {
      const table = await context.newTable();
      const requestOptions = { customHeaders: { "x-ms-client-request-id": "mine-1" } };
      const entity = { partitionKey: "p", rowKey: "r" };
      let seen: (string | undefined)[] = [];
      const created = await table.createEntity(entity, {
        requestOptions,
        onResponse: ({ headers }) => {
          seen = ["x-ms-client-request-id", "x-ms-version"].map((name) => headers.get(name));
        },
      });
      equal(seen, ["mine-1", "2019-02-02"]);
      equal(created.clientRequestId, "mine-1");
      equal(created.version, "2019-02-02");
    },
  },
  {
    name: "an aborted request has no effect",
    async run(context) {
      const table = await context.newTable();
      const abortSignal = AbortSignal.abort();
      const entity = { partitionKey: "p", rowKey: "r" };
      const error = await rejectionOf(table.createEntity(entity, { abortSignal }));
      equal((error as Error).name, "AbortError");
      equal(await all(table.listEntities()), []);
    },
  },
];
