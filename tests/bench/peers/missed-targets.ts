// Why a target is missed, by row: printed below the tables of runs that missed it. Figures in
// braces are those of the same run, by row; the others were measured, and are to be measured again
// when what they are about has changed.

const waits = (row: string) =>
  `half of them take {${row}-before} ms until the browser has everything, {${row}-browser} in the browser, and {${row}-behind} until the caller goes on.`;

const ofPut = (row: string) =>
  `Of a put of as many bytes in the form of IDBFS these are {${row}-before}, {${row}-browser} and {${row}-behind}.`;

const insert = (level: string) =>
  `${waits(`insert-${level}`)} ${ofPut(`put-file-${level}`)} What is more than a ` +
  "put's on the page's thread runs once in a millisecond and finds no cache warm: encoding, the core, sealing a segment.";

const waitingLoad = (level: string) =>
  `${waits(`load-${level}`)} ${ofPut(`put-group-file-${level}`)} Awaited one by one, neither the page's thread nor the browser can begin before the other has ended: so it is what the raw ` +
  `puts below take, {put-group-file-${level}} µs in the form in which IDBFS keeps files, and what the page's thread takes for it, {load-deferred} for deferred writes.`;

const parts = "The table of components further down says what each part of the package takes.";

const warmingUp =
  "The browser compiles what it runs often anew and better, in the background, which is done after some ten thousand such calls.";

// Of single writes that are stored later.
const stored = (row: string) =>
  `half of the batches take no more than {${row}-median} µs, as the row below says. The mean has a part in what comes once in thousands of calls: a megabyte of log that is sealed and ` +
  `handed over, which is "storing" in the table of components further down (by the clock around it, in Node, sealing is 0.19 µs for each, four tenths of them the checksum, and copying out 0.1, nearly all of it the first touch of the memory), the collector, and what the browser's own threads take of the machine's cores, which store and compile meanwhile.`;

export const missedTargetReasons: Readonly<Record<string, string>> = {
  "load-deferred": `a third of it is the module, which is the whole core; storing what was written before and reading entities out of JavaScript are another. ${parts} ${warmingUp}`,
  "load-relaxed": waitingLoad("relaxed"),
  "load-strict": waitingLoad("strict"),
  "load-ten-strict":
    "ten transactions share one of IndexedDB. They are answered together, and so the next ten are made together: the disk waits for the page's thread, and " +
    `that for the disk. So it is what one raw put of all ten takes, {put-ten-groups-file-strict} µs in the form of IDBFS, and what the page's thread takes for it. ${parts}`,
  "insert-deferred":
    `${stored("insert")} Of that handing over alone is {hand-over} µs, which is the browser's own copying and compressing. ${warmingUp} In the first thousand calls of a page it is {insert-first}. What the core does for an insert, function by function, is counted under Instructions: finding its place, checking and ` +
    "packing each property, its log record with a checksum; none of that is done twice.",
  "insert-puts-relaxed": insert("relaxed"),
  "insert-puts-strict": insert("strict"),
  "in-flight":
    `what the page's thread does, then one transaction of IndexedDB that holds all thousand: a raw put of as many bytes takes {put-in-flight-file-strict} µs for each in the form of IDBFS. ` +
    `Neither can begin before the other has ended. ${parts}`,
  get:
    "the same entity again and again takes 2.4 µs, so 1.1 is waiting for memory: of a row that is in no cache its leaf, the leaf's directory and " +
    "the row, each found by what stands in the one before. Of the rest more than half is making the object of the row's bytes, a fifth the core.",
  partition:
    "the same partition again and again takes 17 µs, so 7 is waiting for memory, 6 of it for the ten rows, though they are asked for together. A " +
    "scan that finds nothing takes 8: parsing and planning the filter, testing a thousand rows, the iterator. Making ten objects takes 9.",
  merge: `${stored("merge")} Rows at random, in no cache: a fifth is waiting for memory, for the row's leaf, its directory and the row, each found by what stands in the one before.`,
  "merge-if": `as in the row above, with the ETag to encode and compare: half of the batches take no more than {merge-if-median} µs.`,
  "memory-load":
    "a page that makes the same entities and only puts as many bytes has what the row below says. Packed rows with the tree above them are 17.6 MB " +
    "(stats()), the package's code, compiled, is some 4. So a page with all rows in memory cannot have much less than 30; the rest is log " +
    "records under way, and what stands free between blocks of the module's memory.",
  transfer:
    "three quarters of it are the primary module, which holds little that a page of tables does not need: opening, writing, reading and checkpoints. By " +
    "the names of its functions half of its code is the store, a fifth what the standard library's templates make for it, a tenth RPC, another the libraries of C, " +
    "C++ and Emscripten. The rest is JavaScript; a quarter of it is Emscripten's glue code with IDBFS. Requests, plans, snapshots and `verify` are in the deferred module, " +
    "which is loaded on first use.",
  open:
    "{open-floor} ms are the browser's own for the same calls, as the row below says, in which the module is not even started. The browser compiles each function of the " +
    "module when it is first called: by a trace some 560, in 13 ms, most of them while the manifest is applied and while the part with the row is loaded, which takes 7 in " +
    "code that is not optimised yet (the fifth part takes 3.6).",
};
