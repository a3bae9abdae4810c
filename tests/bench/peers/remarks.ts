// Why a target is missed, by row: printed below the tables of runs that missed it. What is said here was measured, and is to be
// measured again when what it is about has changed: by `tests/bench/run peers --profile --only entitable --rounds 1`, whose first line of each row
// has the shares of the parts, or as said.

// Chromium 156, 400 of each kind in turn with raw puts of as many bytes, medians in ms; `calls` of what is before are calls of IndexedDB.
interface Waited {
  readonly all: number;
  readonly before: number;
  readonly calls: number;
  readonly browser: number;
  readonly behind: number;
  readonly put: number;
}
const parts = ({ all, before, calls, browser, behind, put }: Waited) =>
  `half of them take no more than ${all} ms: ${before} until the browser has everything (${calls} of it in calls of IndexedDB), ${browser} in ` +
  `the browser, and ${behind} until the caller goes on. A raw put in turn with them takes ${put}.`;

const insert = (waited: Waited) =>
  `${parts(waited)} What is more than a put's: the look at the segment before, which tells whether another tab has gone on with the log, the ` +
  "form that IDBFS asks for (its index, Date and mode), and code that runs once in a millisecond and finds no cache warm. Behind a load of " +
  "100,000 entities its checkpoint is being written meanwhile, and each insert waits for a part: twice a put instead of 1.5 times.";

const waitingLoad = (waited: Waited) =>
  `${parts(waited)} Awaited one by one, neither the page's thread nor the browser can begin before the other has ended.`;

export const remarks: Readonly<Record<string, string>> = {
  "load-deferred":
    "by a profile of what scripts take, reading the entity out of JavaScript into a block takes 1.6 µs (its strings are not in any " +
    "cache), the core 1.5, storing what was written before 1.0 (half of it the browser's own clone of the bytes), keeping the block for " +
    "another tab and the way through the queue 0.3, garbage collection and the reply 0.3.",
  "load-relaxed": waitingLoad({
    all: 1.37,
    before: 0.72,
    calls: 0.22,
    browser: 0.51,
    behind: 0.09,
    put: 0.57,
  }),
  "load-strict": waitingLoad({
    all: 1.79,
    before: 0.62,
    calls: 0.22,
    browser: 1.05,
    behind: 0.09,
    put: 1.2,
  }),
  "load-ten-strict":
    "up to ten transactions share a segment, so what is left is the page's thread: as in the first row, and 2 µs more for promises and " +
    "copies of what waits.",
  "insert-deferred":
    "by a profile of 17 µs in scripts, of rows that go between others at random, the core takes 8.6 (the leaf that is to be changed is in" +
    " no cache), storing what was written before 2.9, the way through the host and its queue 2.7, encoding 1.9, reply and client 0.8. A " +
    "transaction of a hundred pays most of that once.",
  "insert-puts-relaxed": insert({
    all: 0.86,
    before: 0.28,
    calls: 0.16,
    browser: 0.49,
    behind: 0.05,
    put: 0.62,
  }),
  "insert-puts-strict": insert({
    all: 1.34,
    before: 0.31,
    calls: 0.19,
    browser: 0.9,
    behind: 0.05,
    put: 1.01,
  }),
  "in-flight":
    "by a profile of 20 µs in scripts, of rows that go between others at random, the core takes 10.8, storing 5.2 (one segment for a " +
    "thousand, and the checkpoints), encoding 1.8, the queue 1.4, garbage collection 0.7.",
  get:
    "by a profile of 4.4 µs in scripts, in which rows were asked for at random, the core takes 1.8 (most of it waiting for memory), " +
    "making the object of its bytes 1.9, encoding 0.2, the promise and the call the rest.",
  partition:
    "by a profile with partitions asked for at random, a good half of what scripts take is the module (leaves that are in no cache, parsing " +
    "and planning the filter), more than a third is making the page's ten objects, the rest the iterator.",
  merge:
    "by a profile of 13 µs in scripts, of rows at random, the core takes 7.4 (finding the row twice and writing it anew, in no cache), " +
    "the host and its queue 1.7, encoding 1.3, storing 1.2, reply and client the rest.",
  "merge-if": "as in the row above, with the ETag to encode and compare.",
  "memory-load":
    "27.8 MB of it are the module's memory: 16.9 packed rows, 1.6 the tree above them (stats()), the rest columns that scans compare, the " +
    "stack, log records under way and what stands free. Most of what the page has beside that, a page with idb alone has as well.",
  transfer:
    "four fifths of it are the module, of whose code (by the names of its functions) more than half is the store itself, a quarter the " +
    "service's protocol with JSON, and a fifth the libraries of C, C++ and Emscripten.",
  open:
    "by marks in the page, of 71 ms with 100,000 entities importing the bundle takes 14 (by itself as much), fetching and compiling the " +
    "module 17 (by itself 12.5; the lock, the database and the glue come beside it), starting it 9, reading and applying the log 12 (the " +
    "browser compiles each function when it is first called), the claim 2, what the first call makes 6, the part with the row 8 (1.5 of it in " +
    "IndexedDB, the rest in code that is not optimised yet: the fifth part takes 3.6 in all), and its reply 3. By themselves the browser's " +
    "shares, the bundle, the module, a lock, a database opened and an entry read, take 29.",
};
