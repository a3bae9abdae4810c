// Puts figures of the benchmark into a page: replaces <!-- figures --> and <!-- sizes --> by
// tables. The figures are those that `tests/bench/run` wrote into tests/bench/README.md.

const transfer = "transfer, compressed, kB";

// The rows of the benchmark's table that are shown, and what they are called here.
const rows: Readonly<Record<string, string>> = {
  "point read, one await each, µs": "read one entity by its keys, µs",
  "range of 100, µs": "read a range of 100 entities, µs",
  "table scan, 1 % returned, ms": "scan the table, 1 % returned, ms",
  "load in transactions of 100, per entity, strict, 10 in flight, µs":
    "write in transactions of 100, flushed to disk, for each entity, µs",
  "insert, awaited, strict, µs": "write one entity, flushed to disk, µs",
  "cold open: import, open, first read, ms": "open a stored table and read from it, ms",
  "memory after load, MB": "memory after loading, MB",
  "transfer, JavaScript and wasm, brotli, KB": transfer,
};
const columns = ["entitable", "SQLite, OPFS", "idb", "Dexie", "LokiJS"];

// The sizes that are shown.
const total = "**a page that opens a store and uses a table, total**";
const sizeRows: Readonly<Record<string, string>> = {
  [total]: "a page that opens a store and uses a table",
  "of it entitable.core.wasm": "of it WebAssembly",
  "of it JavaScript": "of it JavaScript",
  "entitable.rest.wasm, with the first request, plan or restore":
    "in addition, with the first REST request, query plan or restore",
  "entitable.live.wasm, with the first live query or change feed":
    "in addition, with the first live query or change feed",
  "entitable.snapshot.wasm, with the first snapshot, restore or `verify`":
    "in addition, with the first snapshot, restore or verify",
};

/** `bench` is the benchmark's document. Throws an Error if it lacks one of the figures. */
export function withFigures(html: string, bench: string): string {
  return html
    .replace("<!-- figures -->", () => figures(bench))
    .replace("<!-- sizes -->", () => sizes(bench));
}

function figures(bench: string): string {
  const [, peers = ""] = /<!-- peers -->(.*)<!-- end of peers -->/s.exec(bench) ?? [];
  const [, hundredThousand = ""] = /^### 100,000 entities(.*?)^### /ms.exec(peers) ?? [];
  const [, all = ""] = /^All databases.*?\n\n(.*?)\n\n/ms.exec(hundredThousand) ?? [];
  const cells = cellsOf(all);
  const indexes = columns.map((name) => found(cells[0]?.indexOf(name), name));
  const body = Object.entries(rows).map(([name, title]) => {
    const row = rowOf(cells, name);
    const values = indexes.map((index) => figure(row[index]));
    if (title === transfer) values[0] = kilobytes(rowOf(sizeCells(bench), total));
    return [title, ...values];
  });
  return table("Figures", ["", ...columns], body);
}

function sizes(bench: string): string {
  const cells = sizeCells(bench);
  const body = Object.entries(sizeRows).map(([name, title]) => [
    title,
    kilobytes(rowOf(cells, name)),
  ]);
  return table("Sizes", ["loaded", "kB, compressed"], body);
}

function sizeCells(bench: string): string[][] {
  const [, text = ""] = /<!-- sizes -->\n(.*)\n<!-- end of sizes -->/s.exec(bench) ?? [];
  return cellsOf(text);
}

// The last cell is the size compressed by brotli, in bytes: "175,430".
function kilobytes(row: readonly string[]): string {
  const bytes = Number(row.at(-2)?.replaceAll(",", ""));
  return String(Math.round(bytes / 1000));
}

function cellsOf(markdown: string): string[][] {
  return markdown.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
}

function rowOf(cells: readonly string[][], name: string): string[] {
  const index = cells.findIndex((one) => one[1] === name);
  return cells[found(index, name)] ?? [];
}

function found(index: number | undefined, name: string): number {
  if (index === undefined || index < 0)
    throw new Error(`tests/bench/README.md has no figures of ${name}.`);
  return index;
}

// "2.66 S <sub>2.56–2.75</sub>" is a median, a durability level and a range.
function figure(cell = ""): string {
  return /^[\d.,]+/.exec(cell)?.[0] ?? cell;
}

function table(label: string, head: readonly string[], body: readonly string[][]): string {
  const columnHeads = head.map((name) =>
    name === "" ? "<td></td>" : `<th scope="col">${name}</th>`,
  );
  const lines = body.map(
    ([title, ...values]) =>
      `<tr><th scope="row">${title}</th>${values.map((value) => `<td>${value}</td>`).join("")}</tr>`,
  );
  return `<div class="table figures" tabindex="0" role="group" aria-label="${label}"><table>
<thead><tr>${columnHeads.join("")}</tr></thead>
<tbody>${lines.join("\n")}</tbody></table></div>`;
}
