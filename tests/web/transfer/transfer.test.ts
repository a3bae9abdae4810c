// Tests store.export() and store.import(): round trips of every kind of value, rejected rows,
// sources that fail, and that only a small part of a file is in memory.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { StoreHandle } from "../../../web/src/store.ts";
import type {
  ExportOptions,
  FileFormat,
  ImportedRow,
  ImportOptions,
  ImportProgress,
  ImportReport,
  Store,
  TableEntity,
} from "../../../web/src/types.ts";
import { edm, openStore } from "../support/package.ts";
import { type Random, seededRandom } from "../support/random.ts";
import { Origin, Tab } from "../support/simulated-tabs.ts";
import { simulatedTest } from "../support/simulated-test.ts";

const formats: FileFormat[] = ["ndjson", "json", "csv"];

let store: Store;
let tables = 0;
before(async () => {
  store = await openStore({ persistence: "memory" });
});
after(() => store.close());

async function newTable(entities: TableEntity[] = []): Promise<string> {
  const table = `table${++tables}`;
  await store.table(table).createTable();
  for (const entity of entities) await store.tableClient(table).createEntity(entity);
  return table;
}

async function textOf(options: ExportOptions, from = store): Promise<string> {
  return await new Response(from.export(options)).text();
}

// Returns the entities with types, without ETags and timestamps.
async function rowsOf(table: string, from = store): Promise<object[]> {
  const rows: object[] = [];
  const list = from.tableClient(table).listEntities({ disableTypeConversion: true });
  for await (const { etag: _, timestamp: __, ...row } of list) rows.push(row);
  return rows;
}

const row = (rowKey: string, more: object = {}) => ({ partitionKey: "p", rowKey, ...more });
const line = (rowKey: string, n = 1) => `{"PartitionKey":"p","RowKey":"${rowKey}","n":${n}}\n`;

const everything: TableEntity = {
  ...row("all"),
  binary: Uint8Array.of(0, 255, 16),
  boolean: true,
  dateTime: edm.dateTime("1601-01-01T00:00:00.0000001Z"),
  double: edm.double(3),
  guid: edm.guid("c9da6455-213d-42c9-9a79-3e9149a57833"),
  int32: -2147483648,
  int64: -9223372036854775808n,
  string: 'a"b,\r\n;é😀\t',
};

describe("export writes", () => {
  test("the service's JSON, on lines and as an array", async () => {
    const table = await newTable([everything]);
    const { timestamp } = await store.tableClient(table).getEntity("p", "all");
    const expected =
      `{"PartitionKey":"p","RowKey":"all","Timestamp@odata.type":"Edm.DateTime","Timestamp":"${timestamp}",` +
      '"binary@odata.type":"Edm.Binary","binary":"AP8Q","boolean":true,' +
      '"dateTime@odata.type":"Edm.DateTime","dateTime":"1601-01-01T00:00:00.0000001Z",' +
      '"double@odata.type":"Edm.Double","double":3.0,' +
      '"guid@odata.type":"Edm.Guid","guid":"c9da6455-213d-42c9-9a79-3e9149a57833",' +
      '"int32":-2147483648,"int64@odata.type":"Edm.Int64","int64":"-9223372036854775808",' +
      '"string":"a\\"b,\\r\\n;é😀\\t"}';
    assert.equal(await textOf({ table, format: "ndjson" }), `${expected}\n`);
    assert.equal(await textOf({ table, format: "json" }), `[\n${expected}\n]\n`);
    const plain = expected.replace(/"\w+@odata\.type":"[^"]*",/g, "");
    assert.equal(await textOf({ table, format: "ndjson", typed: false }), `${plain}\n`);
  });

  test("CSV as Storage Explorer does, and CSV without types", async () => {
    const table = await newTable([row("1", { a: 1, b: "" }), row("2", { a: 2n })]);
    const query = { select: ["PartitionKey", "RowKey", "a", "b", "c"] };
    assert.equal(
      await textOf({ table, query, format: "csv" }),
      'PartitionKey,RowKey,a,a@type,b,b@type,c,c@type\r\np,1,1,Int32,"",String,,\r\np,2,2,Int64,,,,\r\n',
    );
    const { timestamp } = await store.tableClient(table).getEntity("p", "1");
    assert.match(
      await textOf({ table, format: "csv", typed: false, query: { filter: "RowKey eq '1'" } }),
      new RegExp(`^PartitionKey,RowKey,Timestamp,a,b\r\np,1,${timestamp},1,""\r\n$`),
    );
  });

  test("CSV cells that a spreadsheet would run, unchanged unless safeCells is set", async () => {
    const risky = ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "\tx", "\rx", "\nx", "＝1", "＋1"];
    const harmless = ["'=1", " =1", "a=1", "＃", ""];
    const texts = [...risky, ...harmless, "－1", "＠x"];
    const table = await newTable();
    for (const [n, text] of texts.entries()) {
      await store.table(table).createEntity(row(`${10 + n}`, { text }));
    }
    const query = { select: ["text"] };
    const quoted = (text: string) =>
      text === "" ? '""' : /[\r\n]/.test(text) ? `"${text}"` : text;
    const csvOf = (cells: string[]) => `text\r\n${cells.map((c) => `${quoted(c)}\r\n`).join("")}`;
    const options = { table, query, format: "csv", typed: false } as const;
    assert.equal(await textOf(options), csvOf(texts));
    assert.equal(await textOf({ ...options, safeCells: false }), csvOf(texts));
    const safe = texts.map((text) => (harmless.includes(text) ? text : `'${text}`));
    assert.equal(await textOf({ ...options, safeCells: true }), csvOf(safe));
  });

  test("an apostrophe before keys and text with safeCells, but not before numbers", async () => {
    const entity = {
      partitionKey: "=p",
      rowKey: "-r",
      binary: Uint8Array.of(0xf8), // "+A==" in base64
      double: -0.5,
      infinite: edm.double(-Infinity),
      int32: -1,
      int64: -2n,
    };
    const table = await newTable([entity]);
    const select = ["partitionKey", "rowKey", "binary", "double", "infinite", "int32", "int64"];
    const options = { table, query: { select }, format: "csv", safeCells: true } as const;
    const file = await textOf(options);
    assert.equal(
      file.split("\r\n")[1],
      "'=p,'-r,'+A==,Binary,-0.5,Double,-Infinity,Double,-1,Int32,-2,Int64",
    );
    // The import does not remove the apostrophes.
    const copy = await newTable();
    const text = "PartitionKey,RowKey,a\r\n'=p,'-r,'+1\r\n";
    await store.import(text, { table: copy, format: "csv" });
    const a = { type: "String", value: "'+1" };
    assert.deepEqual(await rowsOf(copy), [{ ...row("'-r"), partitionKey: "'=p", a }]);
  });

  test("an error for safeCells in another format", async () => {
    const table = await newTable();
    for (const format of ["ndjson", "json"] as const) {
      await assert.rejects(textOf({ table, format, safeCells: true }), {
        code: "ValidationFailed",
        message: /^safeCells is only for the format csv, not (?:nd)?json\.$/,
      });
      await textOf({ table, format, safeCells: false });
    }
  });

  test("only what the format requires, for an empty table", async () => {
    const table = await newTable();
    assert.equal(await textOf({ table, format: "ndjson" }), "");
    assert.equal(await textOf({ table, format: "json" }), "[]\n");
    assert.equal(await textOf({ table, format: "csv" }), "PartitionKey,RowKey,Timestamp\r\n");
  });

  test("an error instead of an incomplete file", async () => {
    const table = await newTable([row("1", { half: "\ud800" })]);
    await assert.rejects(textOf({ table, format: "csv" }), { code: "ValidationFailed" });
    assert.match(await textOf({ table, format: "ndjson" }), /"half":"\\ud800"/);
    await assert.rejects(textOf({ table: "none", format: "json" }), { code: "TableNotFound" });
    await assert.rejects(textOf({ table, format: "xml" as never }), { code: "ValidationFailed" });
    const query = { filter: "n eq" };
    await assert.rejects(textOf({ table, query, format: "csv" }), { code: "InvalidInput" });
    const signal = AbortSignal.abort();
    await assert.rejects(textOf({ table, format: "csv", signal }), { name: "AbortError" });
  });

  test("an error for a property that was added after the header was written", async () => {
    const table = await newTable();
    for (let n = 0; n < 1001; ++n) await store.table(table).createEntity(row(`${n + 1000}`));
    const reader = store.export({ table, format: "csv" }).getReader();
    const first = await reader.read();
    assert.match(
      new TextDecoder().decode(first.value),
      /^PartitionKey,RowKey,Timestamp\r\np,1000,/,
    );
    await store.table(table).createEntity(row("9999", { late: 1 }));
    await assert.rejects(reader.read(), /The property late was added while/);
  });

  test("without reading before it is read, and at most one page ahead", async () => {
    const queries: string[] = [];
    const client = store.tableClient.bind(store);
    const table = await newTable();
    for (let n = 0; n < 2500; ++n) await store.table(table).createEntity(row(`${n + 10000}`));
    store.tableClient = (name) => {
      const real = client(name);
      return Object.assign(Object.create(real), {
        listEntities: (options: object) => {
          queries.push("list");
          const pages = real.listEntities(options);
          return {
            byPage: async function* () {
              for await (const page of pages.byPage()) {
                queries.push(`page ${page.length}`);
                yield page;
              }
            },
          };
        },
      });
    };
    try {
      const reader = store.export({ table, format: "ndjson" }).getReader();
      assert.deepEqual(queries, []);
      await reader.read();
      assert.deepEqual(queries, ["list", "page 1000"]);
      await reader.read();
      await reader.cancel();
      assert.deepEqual(queries, ["list", "page 1000", "page 1000"]);
    } finally {
      store.tableClient = client;
    }
  });
});

// ---- Round trips --------------------------------------------------------------------------------

const doubles = [
  0,
  -0,
  3,
  -1.5,
  1e21,
  1e-7,
  5e-324,
  1.7976931348623157e308,
  NaN,
  Infinity,
  -Infinity,
];
const texts = [
  "",
  "a",
  "a,b",
  '"',
  "\r",
  "\n",
  " \t ",
  "007",
  "TRUE",
  "é😀",
  "\0",
  "\ufeff",
  ";",
  "null",
  "x".repeat(300),
];
const names = [
  "a",
  "b_1",
  "Ünï",
  "__proto__",
  "constructor",
  "PartitionKey2",
  "Edm",
  "value",
  "type",
];

function randomValue(random: Random, halves: boolean): unknown {
  const of = <T>(all: readonly T[]): T => all[random.below(all.length)] as T;
  switch (random.below(8)) {
    case 0:
      return halves && random.below(4) === 0 ? "\udc00x" : of(texts) + of(texts);
    case 1:
      return Uint8Array.from({ length: random.below(40) }, () => random.below(256));
    case 2:
      return random.below(2) === 0;
    case 3: {
      const fraction = String(random.below(10_000_000)).padStart(7, "0");
      return edm.dateTime(`${1601 + random.below(8399)}-02-28T23:59:59.${fraction}Z`);
    }
    case 4:
      return edm.double(random.below(2) === 0 ? of(doubles) : random.below(2 ** 32) / 1000);
    case 5:
      return edm.guid();
    case 6:
      return of([0, 1, -1, 2147483647, -2147483648, random.below(2 ** 31)]);
    default:
      return of([0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n]);
  }
}

function randomEntities(random: Random, halves: boolean): TableEntity[] {
  const entities: TableEntity[] = [];
  for (let n = random.below(300); n > 0; --n) {
    const key = (texts[random.below(6)] as string).replace(/[\r\n]/g, "_") + String(n);
    const entity: TableEntity = Object.create(null);
    Object.assign(entity, { partitionKey: `p${random.below(4)}"`, rowKey: key });
    for (let k = random.below(6); k > 0; --k) {
      entity[names[random.below(names.length)] as string] = randomValue(random, halves);
    }
    entities.push(entity);
  }
  return entities;
}

describe("a round trip", () => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1e9);
  for (const format of formats) {
    test(`by ${format} keeps random entities to the last bit (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      for (let run = 0; run < 12; ++run) {
        const entities = randomEntities(random, format !== "csv");
        const table = await newTable(entities);
        const file = await textOf({ table, format });
        const other = `table${++tables}`;
        const mode = (["insert", "upsert", "replace"] as const)[run % 3] ?? "insert";
        const report = await store.import(new Blob([file]), { table: other, format, mode });
        const { length } = entities;
        assert.deepEqual(report, {
          rows: length,
          written: length,
          skipped: 0,
          rejected: 0,
          rejections: [],
          complete: true,
        });
        assert.deepEqual(await rowsOf(other), await rowsOf(table));
        const again = await textOf({
          table: other,
          format,
          query: { select: ["RowKey", ...names] },
        });
        assert.equal(
          again,
          await textOf({ table, format, query: { select: ["RowKey", ...names] } }),
        );
      }
    });
  }

  test("of what a REST client saved", async () => {
    const table = await newTable([everything, row("2", { whole: edm.double(4) })]);
    const url = `http://127.0.0.1:10002/default/${table}()`;
    for (const level of ["minimalmetadata", "fullmetadata"]) {
      const headers = { accept: `application/json;odata=${level}` };
      const body = (await store.fetch(url, { headers })).body as ReadableStream<Uint8Array>;
      const other = `table${++tables}`;
      const { written, rejections } = await store.import(body, { table: other, format: "json" });
      assert.deepEqual([written, rejections], [2, []]);
      assert.deepEqual(await rowsOf(other), await rowsOf(table));
    }
  });
});

// ---- Import -------------------------------------------------------------------------------------

async function imported(
  source: Parameters<Store["import"]>[0],
  options: Partial<ImportOptions> = {},
): Promise<ImportReport & { keys: string }> {
  const table = options.table ?? `table${++tables}`;
  const report = await store.import(source, { table, format: "ndjson", ...options });
  const rows = (await rowsOf(table)) as { rowKey: string; n?: { value: string } }[];
  return { ...report, keys: rows.map(({ rowKey, n }) => `${rowKey}=${n?.value}`).join(" ") };
}

describe("import", () => {
  test("inserts, merges or replaces; inserting rejects existing entities", async () => {
    const table = await newTable([row("2", { m: "old" })]);
    const source = [1, 2, 3].map((n) => line(String(n), n)).join("");
    const { rejections, ...report } = await imported(source, { table });
    assert.deepEqual(rejections, [
      {
        line: 2,
        message: rejections[0]?.message,
        code: "EntityAlreadyExists",
        partitionKey: "p",
        rowKey: "2",
      },
    ]);
    assert.match(rejections[0]?.message ?? "", /^The specified entity already exists/);
    const counts = { rows: 3, written: 2, skipped: 0, rejected: 1, complete: true };
    assert.deepEqual(report, { ...counts, keys: "1=1 2=undefined 3=3" });
    await imported(source, { table, mode: "upsert" });
    assert.equal((await store.tableClient(table).getEntity("p", "2"))["m"], "old");
    await imported(source, { table, mode: "replace" });
    assert.equal((await store.tableClient(table).getEntity("p", "2"))["m"], undefined);
  });

  test("rejects rows with their line numbers, and writes the others", async () => {
    const file = [
      "PartitionKey,RowKey,n,n@type",
      "p,1,1,Int32",
      "p,2,x,Int32",
      "p,3,1",
      `p,${"k".repeat(1025)},1,Int32`,
      'p,"5\n",1,Int32',
      "p,6,1,Guid",
      "p,7,1,Int32",
      "p,8,,Int64",
    ].join("\n");
    const { rejections, keys, rows, written, rejected } = await imported(file, { format: "csv" });
    assert.deepEqual([rows, written, rejected, keys], [8, 2, 6, "1=1 7=1"]);
    assert.deepEqual(
      rejections.map(({ line, code }) => [line, code]),
      [
        [3, "InvalidInput"],
        [4, undefined],
        [5, "PropertyValueTooLarge"],
        [6, "OutOfRangeInput"],
        [8, "InvalidInput"],
        [10, "InvalidInput"],
      ],
    );
    assert.equal(rejections[0]?.message, 'n is "x", which is not a valid Int32.');
  });

  test("writes two rows of one entity in order", async () => {
    const source = line("1", 1) + line("2", 1) + line("1", 2);
    const first = await imported(source);
    assert.equal(first.keys, "1=1 2=1");
    assert.deepEqual(
      first.rejections.map(({ line, code }) => [line, code]),
      [[3, "EntityAlreadyExists"]],
    );
    assert.equal((await imported(source, { mode: "replace" })).keys, "1=2 2=1");
  });

  test("keeps a thousand rejections and counts the others", async () => {
    const { rejections, rejected, written } = await imported(`${"x\n".repeat(1500)}${line("1")}`);
    assert.deepEqual([rejections.length, rejected, written], [1000, 1500, 1]);
    assert.deepEqual([rejections[0]?.line, rejections[999]?.line], [1, 1000]);
  });

  test("reports a truncated file, after the rows that could be read", async () => {
    for (const [format, source, line] of [
      ["json", `[${row1}\n,{"PartitionKey"`, 2],
      ["csv", 'PartitionKey,RowKey\np,1\np,"2', 3],
      ["ndjson", Uint8Array.of(...new TextEncoder().encode(`${row1}\n`), 0xff), 2],
    ] as const) {
      const { written, rejections, complete } = await imported(source, { format });
      assert.deepEqual([written, complete, rejections.at(-1)?.line], [1, false, line], format);
    }
  });

  test("splits groups that are too big until they fit", async () => {
    const value = "x".repeat(32000);
    const many = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`s${n}`, value]));
    const entities = Array.from({ length: 20 }, (_, n) => ({
      PartitionKey: "p",
      RowKey: `${n}`,
      ...many,
    }));
    const tooBig = {
      PartitionKey: "p",
      RowKey: "big",
      ...many,
      ...Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`t${n}`, value])),
    };
    const report = await imported(JSON.stringify([...entities, tooBig]), { format: "json" });
    assert.equal(report.written, 20);
    assert.deepEqual(
      report.rejections.map(({ code, rowKey }) => [code, rowKey]),
      [["EntityTooLarge", "big"]],
    );
  });

  test("sends rows that onRow enlarges in groups that the service accepts", async (t) => {
    const table = await newTable();
    const sent: number[] = [];
    const client = store.tableClient(table);
    const { submitTransaction } = Object.getPrototypeOf(client) as typeof client;
    t.mock.method(
      Object.getPrototypeOf(client),
      "submitTransaction",
      function (this: typeof client, ...[actions, options]: Parameters<typeof submitTransaction>) {
        sent.push(actions.length);
        return submitTransaction.call(this, actions, options);
      },
    );
    const large = Object.fromEntries(
      Array.from({ length: 15 }, (_, n) => [`s${n}`, "x".repeat(32_000)]),
    );
    const source = Array.from({ length: 20 }, (_, n) => line(String(n))).join("");
    const { written } = await imported(source, {
      table,
      onRow: ({ entity }) => ({ ...entity, ...large }),
    });
    assert.equal(written, 20);
    assert.deepEqual(sent, [4, 4, 4, 4, 4]);
  });

  test("onRow may observe, change, skip and reject rows", async () => {
    const source = [1, 2, 3, 4, 5].map((n) => line(String(n), n)).join("");
    const onRow = async ({ line, entity }: ImportedRow) => {
      if (line === 1) return null;
      if (line === 2) return { ...row("new"), n: 20 };
      if (line === 3) throw new Error("not this one");
      if (line === 4) return { ...row("bad"), n: [] };
      entity["n"] = 50;
      return undefined;
    };
    const { rejections, ...report } = await imported(source, { onRow });
    const counts = { rows: 5, written: 2, skipped: 1, rejected: 2, complete: true };
    assert.deepEqual(report, { ...counts, keys: "5=50 new=20" });
    assert.deepEqual(
      rejections.map(({ line }) => line),
      [3, 4],
    );
    assert.equal(rejections[0]?.message, "not this one");
    assert.match(rejections[1]?.message ?? "", /^Unknown EDM type object/);
    const bad = await imported(line("1"), { onRow: () => ({ partitionKey: "p" }) as never });
    assert.equal(
      bad.rejections[0]?.message,
      "onRow returned an entity whose keys are not strings.",
    );
  });

  test("rejects invalid options", async () => {
    for (const options of [{ format: "xml" }, { mode: "merge" }] as object[]) {
      await assert.rejects(imported("", options), { code: "ValidationFailed" });
    }
    await assert.rejects(imported("", { table: "no table" }), { code: "InvalidResourceName" });
  });

  test("stops between groups: at an abort, a source's error, or closing", async () => {
    const abort = new AbortController();
    const progress: ImportProgress[] = [];
    let cancelled: unknown;
    let pulled = 0;
    const endless = () =>
      new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            const text = Array.from({ length: 500 }, () => line(`${++pulled}`)).join("");
            controller.enqueue(new TextEncoder().encode(text));
          },
          cancel(reason) {
            cancelled = reason ?? "cancelled";
          },
        },
        { highWaterMark: 0 },
      );
    const table = await newTable();
    const onProgress = (so: ImportProgress) => {
      progress.push(so);
      if (progress.length === 3) abort.abort();
    };
    const { signal } = abort;
    await assert.rejects(imported(endless(), { table, signal, onProgress }), {
      name: "AbortError",
    });
    assert.equal(cancelled, "cancelled");
    assert.deepEqual(progress.at(-1), { rows: 6000, written: 6000, skipped: 0, rejected: 0 });
    assert.equal((await rowsOf(table)).length, 6000);
    assert.ok(pulled <= 8500, `${pulled} rows were read for 6000 that were written`);

    const failing = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new RangeError("no more")),
    });
    await assert.rejects(imported(failing), /no more/);

    const closing = await openStore({ persistence: "memory" });
    const stop = () => void closing.close();
    pulled = 0;
    const options = { table: "closing", format: "ndjson", onProgress: stop } as const;
    await assert.rejects(closing.import(endless(), options), { code: "StoreClosed" });
  });
});

const row1 = '{"PartitionKey":"p","RowKey":"1"}';

describe("files damaged at random", () => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1e9);
  for (const format of formats) {
    test(`${format}: every row is written or in the report (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const table = await newTable(randomEntities(random, false).slice(0, 40));
      const file = new TextEncoder().encode(await textOf({ table, format }));
      for (let run = 0; run < 40; ++run) {
        const bytes = file.slice(0, file.length - (run % 4 === 0 ? random.below(file.length) : 0));
        for (let edits = random.below(8); edits > 0; --edits) {
          if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
        }
        const other = `table${++tables}`;
        const report = await store.import(bytes, { table: other, format });
        assert.equal(report.rows, report.written + report.skipped + report.rejected);
        assert.equal((await rowsOf(other)).length, report.written);
        assert.equal(report.rejections.length, report.rejected);
        for (const { line, message } of report.rejections) assert.ok(line >= 1 && message !== "");
      }
    });
  }
});

describe("tabs that share a store", () => {
  simulatedTest(
    "import and export in any of them, each row once even if the owner dies",
    async () => {
      const rows = Array.from({ length: 3000 }, (_, n) => line(String(n + 10000), n)).join("");
      for (const groups of [0, 1, 2]) {
        const origin = new Origin();
        const first = new Tab(origin);
        const owner = new StoreHandle("shop", await first.open());
        const follower = new StoreHandle("shop", await new Tab(origin).open());
        let done = 0;
        const report = await follower.import(rows, {
          table: "rows",
          format: "ndjson",
          onRow: () => {
            if (done++ === groups * 1000) first.kill();
            return undefined;
          },
        });
        assert.deepEqual([report.written, report.rejections], [3000, []]);
        const file = await textOf({ table: "rows", format: "ndjson" }, follower);
        assert.equal(file.split("\n").length, 3001);
        await follower.close();
        await owner.close().catch(() => {}); // the tab was killed
      }
    },
  );
});
