// The export and import dialogs. The import dialog reports the rows that were rejected.

import type {
  FileFormat,
  ImportMode,
  ImportProgress,
  ImportReport,
  Store,
  TableEntityQueryOptions,
} from "../types.ts";
import { formatCount, formatCountWithNoun, h } from "./dom.ts";
import { Dialog, field, selectBox } from "./explorer-dialog.ts";

const formats: readonly (readonly [FileFormat, string])[] = [
  ["csv", "CSV with types, as Azure Storage Explorer"],
  ["ndjson", "NDJSON: an entity on each line"],
  ["json", "JSON: an array of entities"],
];

const endings: Readonly<Record<FileFormat, string>> = {
  csv: ".typed.csv",
  ndjson: ".ndjson",
  json: ".json",
};

const types: Readonly<Record<FileFormat, string>> = {
  csv: "text/csv",
  ndjson: "application/x-ndjson",
  json: "application/json",
};

// ---- Export ----------------------------------------------------------------------------------

/** Opens a dialog that downloads a table, or only the results of the last query, as a file. */
export function openExportDialog(
  view: ShadowRoot,
  store: Store,
  table: string,
  lastQuery: TableEntityQueryOptions,
): void {
  const format = selectBox(formats, "csv");
  const queried = Object.keys(lastQuery).length > 0;
  const what = selectBox(
    queried
      ? [
          ["query", "The query's results"],
          ["all", "The whole table"],
        ]
      : [["all", "The whole table"]],
    queried ? "query" : "all",
  );
  const cells = selectBox(
    [
      ["exact", "Exact: a spreadsheet may run text such as =1+1"],
      ["safe", "For spreadsheets: an apostrophe before such text"],
    ],
    "exact",
  );
  const cellsField = field("Cells", cells);
  format.addEventListener("change", () => {
    cellsField.hidden = format.value !== "csv";
  });
  const status = h("p", { role: "status", class: "facts" });
  const abort = new AbortController();
  const save = async () => {
    const chosen = format.value as FileFormat;
    const query = what.value === "all" ? {} : lastQuery;
    const { signal } = abort;
    const safeCells = chosen === "csv" && cells.value === "safe";
    const stream = store.export({ table, query, format: chosen, safeCells, signal });
    status.textContent = "Writing…";
    const headers = { "content-type": types[chosen] };
    const file = await new Response(counting(stream, status), { headers }).blob();
    if (signal.aborted) return;
    download(file, `${table}${endings[chosen]}`);
    status.textContent = `Written: ${formatCount(file.size)} bytes.`;
  };
  new Dialog(
    view,
    `Export ${table}`,
    [field("Entities", what), field("Format", format), cellsField, status],
    [{ text: "Export", kind: "primary", act: save }],
    () => abort.abort(),
  );
}

function counting(
  stream: ReadableStream<Uint8Array>,
  status: HTMLElement,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      bytes += chunk.length;
      status.textContent = `${formatCount(bytes)} bytes…`;
      controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
    },
  });
  return stream.pipeThrough(counter);
}

function download(file: Blob, name: string): void {
  const href = URL.createObjectURL(file);
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000); // by then the download has started
}

// ---- Import ----------------------------------------------------------------------------------

const modes: readonly (readonly [ImportMode, string])[] = [
  ["insert", "are left unchanged"],
  ["upsert", "are merged with the row"],
  ["replace", "are replaced by the row"],
];

/**
 * Opens a dialog that imports a file and reports the result. `done` is called after each import
 * with the table's name and whether anything was written.
 */
export function openImportDialog(
  view: ShadowRoot,
  store: Store,
  table: string,
  done: (table: string, written: boolean) => void,
): void {
  const file = h("input", { type: "file", accept: ".csv,.json,.ndjson,.jsonl,.txt" });
  const into = h("input", { type: "text", spellcheck: "false", autocomplete: "off", value: table });
  const format = selectBox(formats, "csv");
  const mode = selectBox(modes, "insert");
  const result = h("div", { class: "report", role: "status" });
  const abort = new AbortController();
  file.addEventListener("change", () => {
    const name = file.files?.[0]?.name ?? "";
    format.value = formatOf(name) ?? format.value;
    if (into.value === "") into.value = tableOf(name);
  });
  const run = async () => {
    const source = file.files?.[0];
    if (source === undefined) throw new Error("Choose a file first.");
    const table = into.value;
    let written = !(await hasTable(store, table)); // the import creates a missing table
    const options = {
      table,
      format: format.value as FileFormat,
      mode: mode.value as ImportMode,
      signal: abort.signal,
      onProgress: (progress: ImportProgress) => {
        written ||= progress.written > 0;
        result.replaceChildren(progressOf(progress));
      },
    };
    result.replaceChildren(h("p", {}, "Reading…"));
    try {
      result.replaceChildren(...reportOf(await store.import(source, options)));
    } catch (error) {
      result.append(h("p", {}, "The file was not read to the end."));
      written &&= await hasTable(store, table).catch(() => true);
      throw error;
    } finally {
      done(table, written);
    }
  };
  new Dialog(
    view,
    "Import",
    [
      field("File", file),
      field("Into the table", into, "The table is created if it does not exist."),
      field("Format", format),
      field("Existing entities", mode),
      result,
    ],
    [{ text: "Import", kind: "primary", act: run }],
    () => abort.abort(),
  );
}

async function hasTable(store: Store, name: string): Promise<boolean> {
  const { tables } = await store.stats();
  return tables.some((table) => table.name.toLowerCase() === name.toLowerCase());
}

function formatOf(name: string): FileFormat | undefined {
  if (/\.(?:csv|tsv|txt)$/i.test(name)) return "csv";
  if (/\.(?:ndjson|jsonl)$/i.test(name)) return "ndjson";
  return /\.json$/i.test(name) ? "json" : undefined;
}

// Returns a table name derived from a file name.
function tableOf(name: string): string {
  const [stem = ""] = name.split(".");
  return stem
    .replace(/[^A-Za-z\d]/g, "")
    .replace(/^\d+/, "")
    .slice(0, 63);
}

function progressOf({ rows, written, rejected }: ImportProgress): HTMLElement {
  const rejectedText = rejected === 0 ? "" : `, ${formatCount(rejected)} rejected`;
  return h(
    "p",
    {},
    `${formatCountWithNoun(rows, "row")} read, ${formatCount(written)} written${rejectedText}…`,
  );
}

const shownRejections = 100;

function reportOf({ rows, written, rejected, rejections, complete }: ImportReport): HTMLElement[] {
  const counts = [
    `${formatCountWithNoun(rows, "row")} read`,
    `${formatCount(written)} written`,
    `${formatCount(rejected)} rejected`,
  ];
  const summary = `${counts.join(", ")}.`;
  const broken = complete
    ? undefined
    : h("p", {}, "The file is incomplete or damaged: see the last line below.");
  const shown = [...rejections.slice(0, shownRejections), ...rejections.slice(-1)];
  const lines = [...new Set(shown)].map(({ line, message, code }) =>
    h(
      "tr",
      {},
      h("td", { class: "number" }, formatCount(line)),
      h("td", {}, code === undefined ? message : `${code}: ${message}`),
    ),
  );
  const head = h(
    "tr",
    {},
    h("th", { scope: "col", class: "number" }, "Line"),
    h("th", { scope: "col" }, "Why"),
  );
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...lines));
  const list = h(
    "div",
    { class: "rejections scroll", tabindex: "0", role: "group", "aria-label": "Rejected rows" },
    table,
  );
  return [h("p", {}, summary), broken, lines.length === 0 ? undefined : list].filter(
    (part) => part !== undefined,
  );
}
