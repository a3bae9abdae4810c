// Tests the file readers with text of every kind, divided into chunks of every size.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CsvReader } from "../../../web/src/transfer/csv-entities.ts";
import { decodeText, InvalidTextError } from "../../../web/src/transfer/decode-text.ts";
import { JsonReader, NdjsonReader } from "../../../web/src/transfer/json-rows.ts";
import { type Row, type RowReader, rowUnitsMax } from "../../../web/src/transfer/row-reader.ts";
import { chunksFrom } from "../../../web/src/util/chunks.ts";
import { seededRandom } from "../support/random.ts";

const makers = {
  csv: () => new CsvReader(),
  ndjson: () => new NdjsonReader(),
  json: () => new JsonReader(),
} as const;
type Format = keyof typeof makers;

function readAll(reader: RowReader, pieces: Iterable<string>): Row[] {
  const rows: Row[] = [];
  for (const piece of pieces) {
    if (reader.hasFailed) break;
    rows.push(...reader.feed(piece));
  }
  if (!reader.hasFailed) rows.push(...reader.end());
  return rows;
}

// Returns one text per row: its line, and either the entity as p/r name:Type=value or the row's
// problem. A final "…" means that the rest could not be read.
function shown(format: Format, text: string, reader: RowReader = makers[format]()): string[] {
  const rows = readAll(reader, [text]).map((row) => {
    if ("problem" in row) return `${row.line}: ${row.problem}`;
    const { partitionKey, rowKey, ...rest } = row.entity;
    const properties = Object.entries(rest).map(([name, property]) => {
      const { type, value } = property as { type: string; value: string };
      return ` ${name}:${type}=${value}`;
    });
    return `${row.line}: ${partitionKey}/${rowKey}${properties.join("")}`;
  });
  return reader.hasFailed ? [...rows, "…"] : rows;
}

describe("CSV", () => {
  const keys = "PartitionKey,RowKey";
  const cases: [what: string, text: string, rows: string[]][] = [
    [
      "as Storage Explorer 1.40 writes it",
      "PartitionKey,RowKey,Timestamp,age,age@type,name,name@type\r\np,1,2026-01-01T00:00:00Z,7,Int32,,\r\np,2,2026-01-01T00:00:00Z,,,Ann,String\r\n",
      ["2: p/1 age:Int32=7", "3: p/2 name:String=Ann"],
    ],
    [
      "as Storage Explorer 1.18 wrote it",
      "PartitionKey,RowKey,Timestamp,age,age@type\np,1,x,7,Edm.Int64\np,2,x,,Edm.Null\n",
      ["2: p/1 age:Int64=7", "3: p/2"],
    ],
    [
      "with types in the first row only",
      `${keys},n,n@type,s,s@type\np,1,2,Int32,,String\np,2,4,,,\np,3,,,End,\n`,
      ["2: p/1 n:Int32=2 s:String=", "3: p/2 n:Int32=4", "4: p/3 s:String=End"],
    ],
    [
      "quotes, separators and line ends in cells",
      `${keys},s\np,"a""b","x,\r\ny\n"\n"p,","",z\n`,
      ['2: p/a"b s:String=x,\r\ny\n', "5: p,/ s:String=z"],
    ],
    [
      "an empty cell in quotes is a text",
      `${keys},s\np,1,""\np,2,\n`,
      ["2: p/1 s:String=", "3: p/2"],
    ],
    ["CR alone, and no line end at the end", `${keys}\rp,1\rp,2`, ["2: p/1", "3: p/2"]],
    ["a carriage return that ends a quoted cell", `${keys}\np,"1\r"\np,2`, ["2: p/1\r", "4: p/2"]],
    ["semicolons", "PartitionKey;RowKey;d\np;1;1,5\n", ["2: p/1 d:String=1,5"]],
    ["tabs, and columns in any order", "d\tRowKey\tPartitionKey\n|\t1\tp\n", ["2: p/1 d:String=|"]],
    ["quotes inside a cell", `${keys},s\np,1,5" disk "x"\n`, ['2: p/1 s:String=5" disk "x"']],
    ["the official client's names", "partitionKey,rowKey\np,1\n", ["2: p/1"]],
    ["what the store itself says", `${keys},etag,odata.x,timestamp\np,1,a,b,c\n`, ["2: p/1"]],
    [
      "properties that are called nearly so",
      `${keys},ETag,TIMESTAMP\np,1,a,b\n`,
      ["2: p/1 ETag:String=a TIMESTAMP:String=b"],
    ],
    [
      "capitals of a spreadsheet",
      `${keys},b,b@type\np,1,TRUE,Boolean\n`,
      ["2: p/1 b:Boolean=true"],
    ],
    ["empty lines", `\n${keys}\n\np,1\n\n\n`, ["4: p/1"]],
    ["__proto__", `${keys},__proto__\np,1,x\n`, ["2: p/1 __proto__:String=x"]],
    [
      "rows that are too long or too short",
      `${keys}\np,1,2\np\np,2\n`,
      ["2: The row has 3 cells, the header 2.", "3: The row has 1 cells, the header 2.", "4: p/2"],
    ],
    [
      "an unknown type",
      `${keys},n,n@type\np,1,2,Integer\np,2,2,Int32\n`,
      ['2: n@type is "Integer", which is not a type.', "3: p/2 n:Int32=2"],
    ],
    [
      "text behind a closing quote",
      `${keys}\n"p"q,1\np,2\n`,
      ["2: There is text after the closing quote of cell 1.", "3: p/2"],
    ],
    [
      "a quote that is never closed",
      `${keys}\np,1\np,"2\np,3\n`,
      ["2: p/1", "3: A quoted cell of this row is not closed.", "…"],
    ],
    ["nothing", "", ["1: There is no header.", "…"]],
    ["a header alone", `${keys}\n`, []],
    ["no RowKey", "PartitionKey,n\np,1\n", ["1: There is no column RowKey.", "…"]],
    [
      "a key twice",
      `${keys},rowKey\n`,
      ["1: The columns RowKey and rowKey are the same key.", "…"],
    ],
    ["a column twice", `${keys},n,n\np,1,2,3\n`, ["1: There are two columns n.", "…"]],
    ["a column without name", `${keys},\n`, ["1: Column 3 has no name.", "…"]],
    [
      "a type of nothing",
      `${keys},n@type\n`,
      ["1: The column n@type has no matching property.", "…"],
    ],
  ];
  for (const [what, text, rows] of cases) {
    test(what, () => assert.deepEqual(shown("csv", text), rows));
  }

  test("uses the types that the caller supplies", () => {
    const reader = new CsvReader({ n: "Int64" });
    const text = `${keys},n,n@type,m\np,1,2,,3\np,2,4,Double,5\n`;
    const rows = ["2: p/1 n:Int64=2 m:String=3", "3: p/2 n:Double=4 m:String=5"];
    assert.deepEqual(shown("csv", text, reader), rows);
  });
});

describe("NDJSON", () => {
  const entity = '{"PartitionKey":"p","RowKey":"1"';
  const cases: [what: string, text: string, rows: string[]][] = [
    [
      "numbers by their text",
      `${entity},"a":3,"b":3.0,"c":3e0,"d":-2147483648,"e":2147483648,"f":-0.0}`,
      [
        "1: p/1 a:Int32=3 b:Double=3.0 c:Double=3e0 d:Int32=-2147483648 e:Double=2147483648 f:Double=-0.0",
      ],
    ],
    [
      "annotations, before or behind",
      `${entity},"a@odata.type":"Edm.Int64","a":9007199254740993,"b":"NaN","b@odata.type":"Edm.Double"}`,
      ["1: p/1 a:Int64=9007199254740993 b:Double=NaN"],
    ],
    [
      "as applications on the official client have them",
      '{"partitionKey":"p","rowKey":"1","etag":"x","a":{"type":"Int64","value":"7"},"b":{"value":true,"type":"Boolean"}}',
      ["1: p/1 a:Int64=7 b:Boolean=true"],
    ],
    [
      "what the service says of an entity",
      '{"odata.etag":"x","PartitionKey@odata.type":"Edm.String","PartitionKey":"p","RowKey":"1","Timestamp@odata.type":"Edm.DateTime","Timestamp":"t","n":null,"n@odata.type":"Edm.Int32"}',
      ["1: p/1"],
    ],
    [
      "properties that are called nearly as what the store says",
      `${entity},"ETag":"a","TIMESTAMP":"b"}`,
      ["1: p/1 ETag:String=a TIMESTAMP:String=b"],
    ],
    ["escapes", `${entity},"s":"\\ud800\\"\\\\\\n"}`, ['1: p/1 s:String=\ud800"\\\n']],
    ["line ends, and lines of blanks", `${entity}}\r\n  \r\n\n${entity}}`, ["1: p/1", "4: p/1"]],
    ["__proto__", `${entity},"__proto__":"x"}`, ["1: p/1 __proto__:String=x"]],
    [
      "lines that are nothing of the kind; the others are read",
      `[]\n${entity}}\n5\n{"PartitionKey":"p"}\n${entity},"PartitionKey":"q"}\n`,
      [
        '1: Invalid JSON: expected "{" before "[]".',
        "2: p/1",
        '3: Invalid JSON: expected "{" before "5".',
        "4: RowKey is missing or not a string.",
        '5: "PartitionKey" occurs twice.',
      ],
    ],
    ["a key twice", `${entity},"rowKey":"2"}`, ["1: RowKey and rowKey are the same key."]],
    ["an array", `${entity},"a":[1]}`, ["1: A property cannot be an array."]],
    [
      "an object",
      `${entity},"a":{"b":1}}`,
      ["1: a is an object, but not a pair of type and value."],
    ],
    [
      "objects in objects",
      `${entity},"a":{"b":{}}}`,
      ["1: A property cannot contain nested objects."],
    ],
    ["no such type", `${entity},"a":{"type":"Int","value":"1"}}`, ["1: a has an unknown type."]],
    [
      "a type of nothing",
      `${entity},"a@odata.type":"Edm.Int64"}`,
      ["1: a@odata.type has no matching property."],
    ],
    ["a string without end", `${entity},"a":"b\\"}`, ["1: A string is not closed."]],
    ["a bad escape", `${entity},"a":"\\x"}`, ["1: The string at column 38 is not valid JSON."]],
    ["a bad number", `${entity},"a":01}`, ['1: Invalid JSON: expected "}" before "1}".']],
    ["no value", `${entity},"a":}`, ['1: Invalid JSON: expected a value before "}".']],
    [
      "something behind",
      `${entity}} x`,
      ['1: Invalid JSON: expected the end of the entity before "x".'],
    ],
    ["a cut", entity, ['1: Invalid JSON: expected "}" before the end.']],
  ];
  for (const [what, text, rows] of cases) {
    test(what, () => assert.deepEqual(shown("ndjson", text), rows));
  }

  test("a line that is too long is one rejected row", () => {
    const reader = new NdjsonReader();
    const piece = "x".repeat(1 << 20);
    const rows = readAll(reader, [...Array(20).fill(piece), `\n${entity}}\n`]);
    assert.equal(rows.length, 2);
    assert.equal(
      (rows[0] as { problem: string }).problem,
      `The row is longer than ${rowUnitsMax} characters.`,
    );
    assert.equal(rows[1]?.line, 2);
  });
});

describe("JSON", () => {
  const entity = '{"PartitionKey":"p","RowKey":"1"}';
  const cases: [what: string, text: string, rows: string[]][] = [
    ["an array", `[\n${entity},\n\n${entity}\n]\n`, ["2: p/1", "4: p/1"]],
    ["none", " [ ] ", []],
    [
      "the service's list",
      `{"odata.metadata":"x","n":[{}],"value":[${entity}],"more":1}`,
      ["1: p/1"],
    ],
    ["no array", entity, ['1: Expected "value" with an array of entities.', "…"]],
    ["something else", "5", ["1: Expected an array of entities.", "…"]],
    ["no comma", `[${entity}\n${entity}]`, ["1: p/1", '2: Expected "," or "]".', "…"]],
    ["a comma too many", `[${entity},]`, ["1: p/1", "1: Expected an entity.", "…"]],
    ["something behind", `[]\n,`, ["2: Unexpected text after the array of entities.", "…"]],
    [
      "a cut between entities",
      `[${entity},`,
      ["1: p/1", "1: The array of entities is not complete.", "…"],
    ],
    [
      "a cut in an entity",
      `[${entity},\n{"a`,
      ["1: p/1", "2: The value that begins here is not complete.", "…"],
    ],
    ["nothing", "", ["1: The array of entities is not complete.", "…"]],
    ["a cut in the list", '{"value"', ["1: The value that begins here is not complete.", "…"]],
  ];
  for (const [what, text, rows] of cases) {
    test(what, () => assert.deepEqual(shown("json", text), rows));
  }

  test("invalid rows", () => {
    const text = `[5,${entity},"a]",null,[1,{}],{"a":{"b":[]}}]`;
    assert.deepEqual(shown("json", text), [
      '1: Invalid JSON: expected "{" before "5".',
      "1: p/1",
      '1: Invalid JSON: expected "{" before "\\"a]\\"".',
      '1: Invalid JSON: expected "{" before "null".',
      '1: Invalid JSON: expected "{" before "[1,{}]".',
      "1: A property cannot be an array.",
    ]);
  });

  test("an entity that is too long ends reading", () => {
    const reader = new JsonReader();
    const rows = readAll(reader, ['[{"a":"', ...Array(20).fill("x".repeat(1 << 20))]);
    assert.deepEqual(rows, [
      { line: 1, units: 0, problem: `The row is longer than ${rowUnitsMax} characters.` },
    ]);
    assert.equal(reader.hasFailed, true);
  });
});

const samples: Record<Format, string> = {
  csv: 'PartitionKey,RowKey,Timestamp,a,a@type,b\r\np,1,t,7,Int64,"x,""y\r\nz"\n"q","2",,,,""\r\np,3,t,,String,é😀\r\n',
  ndjson:
    '{"PartitionKey":"p","RowKey":"1","a@odata.type":"Edm.Int64","a":"7","s":"\\"\\\\"}\r\n\n{"partitionKey":"q","rowKey":"é😀","b":{"type":"Guid","value":"g"},"c":1.5e3,"d":false}\n',
  json: '{"odata.metadata":"x","value":[\n{"PartitionKey":"p","RowKey":"1","s":"]}\\"\\\\"},\r\n{"partitionKey":"q","rowKey":"é😀","b":{"type":"Guid","value":"g"}},5]}\n',
};

describe("chunks and damage", () => {
  for (const format of Object.keys(samples) as Format[]) {
    const complete = samples[format];

    test(`${format} reads the same wherever it is split in two, and character by character`, () => {
      const expected = readAll(makers[format](), [complete]);
      assert.ok(expected.length >= 2);
      for (let at = 0; at <= complete.length; ++at) {
        const rows = readAll(makers[format](), [complete.slice(0, at), complete.slice(at)]);
        assert.deepEqual(rows, expected, `cut at ${at}`);
      }
      assert.deepEqual(readAll(makers[format](), complete.split("")), expected);
    });

    const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1e9);
    test(`${format} with random damage is read to an end (seed ${seed})`, () => {
      const random = seededRandom(seed);
      const signs = '",;\t|\r\n{}[]:\\ @0a\u00e9\ud800\0';
      for (let run = 0; run < 3000; ++run) {
        let text = complete;
        for (let edits = 1 + random.below(6); edits > 0; --edits) {
          const at = random.below(text.length + 1);
          const cut = random.below(4) === 0 ? random.below(20) : random.below(2);
          const sign = signs[random.below(signs.length)] as string;
          text = text.slice(0, at) + (random.below(3) > 0 ? sign : "") + text.slice(at + cut);
        }
        const expected = readAll(makers[format](), [text]);
        const pieces: string[] = [];
        for (let at = 0; at < text.length; ) {
          const length = 1 + random.below(9);
          pieces.push(text.slice(at, at + length));
          at += length;
        }
        assert.deepEqual(readAll(makers[format](), pieces), expected, JSON.stringify(text));
        for (const { line } of expected) assert.ok(line >= 1);
      }
    });
  }
});

describe("text", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const utf16 = (text: string, little: boolean) => {
    const view = new DataView(new ArrayBuffer(text.length * 2));
    for (let i = 0; i < text.length; ++i) view.setUint16(i * 2, text.charCodeAt(i), little);
    return new Uint8Array(view.buffer);
  };
  const cut = (all: Uint8Array, size: number) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < all.length; at += size) controller.enqueue(all.slice(at, at + size));
        controller.close();
      },
    });
  const read = async (source: Parameters<typeof decodeText>[0]) => {
    let text = "";
    try {
      for await (const piece of decodeText(source, chunksFrom)) text += piece;
      return text;
    } catch (error) {
      if (!(error instanceof InvalidTextError)) throw error;
      return `${text}!`;
    }
  };
  const text = "aé€😀\ufeff\0z";

  test("of every encoding, in chunks of every size", async () => {
    assert.equal(await read(`\ufeff${text}`), text);
    assert.equal(await read(new Blob([bytes(text)])), text);
    for (let size = 1; size <= 8; ++size) {
      assert.equal(await read(cut(bytes(text), size)), text);
      assert.equal(await read(cut(bytes(`\ufeff${text}`), size)), text);
      assert.equal(await read(cut(utf16(`\ufeff${text}`, true), size)), text);
      assert.equal(await read(cut(utf16(`\ufeff${text}`, false), size)), text);
    }
    assert.equal(await read(new Uint8Array()), "");
    assert.equal(await read(Uint8Array.of(0x61)), "a");
  });

  test("ends where its encoding is invalid", async () => {
    for (const bad of [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
      const all = Uint8Array.of(...bytes("aé\ufffd"), ...bad, 0x62);
      for (let size = 1; size <= 9; ++size) assert.equal(await read(cut(all, size)), "aé\ufffd!");
      assert.equal(await read(Uint8Array.of(...bytes("aé\ufffd"), ...bad)), "aé\ufffd!");
    }
    assert.equal(await read(Uint8Array.of(0xff, 0xfe, 0x61)), "!");
  });

  test("is rejected from a source without bytes", async () => {
    await assert.rejects(() => read(5 as never), { code: "ValidationFailed" });
  });
});
