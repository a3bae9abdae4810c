// Why a target is missed, by row: printed below the tables of runs that missed it. A row id in
// braces stands for the figure of that row in the same run. The other figures were measured
// separately; measure them again when the code that they describe has changed.

// The medians of `row` and of the raw put `put`, split as by commit-timing.ts.
const phases = (what: string, row: string, put: string) =>
  `The median ${what} takes {${row}-before} ms until the browser has all the data, {${row}-browser} ms in the browser, and {${row}-behind} ms until the caller continues. ` +
  `A raw put of the same bytes in IDBFS format takes {${put}-before}, {${put}-browser} and {${put}-behind} ms.`;

const insert = (level: string) =>
  `${phases("insert", `insert-${level}`, `put-file-${level}`)} The insert takes longer on the page's thread, because it also encodes the entity, calls the core and seals a segment. ` +
  "This code runs only once per millisecond, so the CPU caches are cold each time.";

const waitingLoad = (level: string) =>
  `${phases("transaction", `load-${level}`, `put-group-file-${level}`)} Each transaction is awaited before the next one starts, so the page's thread and the browser never work at the same time. ` +
  `The figure is therefore about the sum of two others: the raw puts in IDBFS format, {put-group-file-${level}} µs, and the work of the page's thread, {load-deferred} µs as for deferred writes.`;

const components = `The table under "CPU profile by component" shows what each part of the package takes.`;

const warmingUp =
  "The browser compiles hot functions again, with more optimisations, in the background; this ends after about ten thousand calls.";

// For single writes that are stored later.
const stored = (row: string) =>
  `The median batch takes {${row}-median} µs, as the next row of the table shows. The mean also includes work that occurs once in thousands of calls: garbage collection, and sealing a megabyte of log and ` +
  `handing it to IndexedDB ("storing" in the table under "CPU profile by component"). In Node, sealing takes 0.19 µs per write, of which the checksum is four tenths. Copying the sealed bytes out of wasm memory takes 0.1 µs per write, nearly all of it for the first access to the newly allocated buffer. ` +
  "The browser's own threads store and compile at the same time, and use the same CPU cores.";

export const missedTargetReasons: Readonly<Record<string, string>> = {
  "load-deferred": `The WebAssembly module, which is the whole core, takes a third of the time. Storing earlier writes and encoding JavaScript entities take another third. ${components} ${warmingUp}`,
  "load-relaxed": waitingLoad("relaxed"),
  "load-strict": waitingLoad("strict"),
  "load-ten-strict":
    "Ten transactions share one IndexedDB transaction. They are acknowledged together, so the next ten also start together: the disk waits for the page's thread, and then the page's thread for the disk. " +
    `The figure is therefore about the sum of two others, per entity: a raw put of all ten transactions in IDBFS format, {put-ten-groups-file-strict} µs, and the work of the page's thread. ${components}`,
  "insert-deferred":
    `${stored("insert")} The hand-over alone takes {hand-over} µs, in which the browser copies and compresses the data. ${warmingUp} The first thousand calls of a page take {insert-first} µs each. ` +
    `"Instructions of the core" counts what the core does for an insert: it finds the place, checks and packs each property, and writes a log record with a checksum. No step is done twice.`,
  "insert-puts-relaxed": insert("relaxed"),
  "insert-puts-strict": insert("strict"),
  "in-flight":
    "The figure is the work of the page's thread plus one IndexedDB transaction that stores all thousand inserts. A raw put of the same bytes in IDBFS format takes {put-in-flight-file-strict} µs per insert. " +
    `Neither can start before the other has ended. ${components}`,
  get:
    "Reading the same entity repeatedly takes 2.4 µs, so 1.1 µs is waiting for memory. If a row is in no CPU cache, the CPU waits for the leaf, for the leaf's directory and for the row, one after the other. " +
    "More than half of the remaining time creates the object from the row's bytes, and a fifth is the core.",
  partition:
    "Scanning the same partition repeatedly takes 17 µs, so 7 µs is waiting for memory. The ten returned rows cause 6 µs of this, although they are prefetched together. " +
    "A scan without matches takes 8 µs: it parses and plans the filter, tests a thousand rows, and runs the iterator. Creating ten objects takes 9 µs.",
  merge: `${stored("merge")} The rows are chosen at random, so they are in no CPU cache. A fifth of the time is waiting for memory: for the leaf, for the leaf's directory and for the row, one after the other.`,
  "merge-if":
    "The reasons are those of the plain merge. In addition, the ETag has to be encoded and compared. The median batch takes {merge-if-median} µs.",
  "memory-load":
    "The next row of the table shows the memory of a page that creates the same entities and only puts the same bytes. Packed rows and the tree above them take 17.6 MB (`stats()`), and the package's compiled code takes about 4 MB. " +
    "A page that holds all rows in memory therefore can't use much less than 30 MB. The rest is log records that are not stored yet, and free space between allocations in the module's memory.",
  transfer:
    "The primary module is three quarters of the transfer. It contains little except what a page of tables needs: opening, writing, reading and checkpoints. " +
    "By the names of its functions, half of its code is the store, a fifth is instances of standard library templates, a tenth is RPC, and another tenth is the C, C++ and Emscripten libraries. " +
    "The rest of the transfer is JavaScript, of which a quarter is Emscripten's glue code with IDBFS. REST requests, plans, snapshots and `verify` are in deferred modules, which are loaded on first use.",
  open:
    "The browser needs {open-floor} ms for the same calls without running the module, as the next row of the table shows. It compiles each function of the module on the first call. A trace shows about 560 functions in 13 ms, " +
    "most of them while the manifest is applied and while the part with the row is loaded. Loading this part takes 7 ms in code that is not optimised yet. The fifth part takes 3.6 ms.",
};
