// Why a target is missed, by row: printed below the tables of runs that missed it. What is said here was measured, and is to be
// measured again when what it is about has changed: by `peers --profile`, or as said.

// Chromium 156, 400 inserts and puts of each kind in turn, medians.
const insert = (all: number, before: number, form: number, put: number) =>
  `of ${all} ms the page's thread has ${before} before the transaction and 0.03 behind it, since what runs once in a millisecond finds no ` +
  `cache warm. The rest is the browser's: a put takes ${put} ms by itself, and ${form} with what IDBFS's form asks for (its index, Date and ` +
  "mode) and the look at the segment before, which tells whether another tab has gone on with the log.";

const waitingLoad = (median: number) =>
  `half of the transactions take no more than ${median} ms, 0.75 of it on the page's thread (encoding and the core 0.5, calls of IndexedDB ` +
  "0.25) and the rest in the browser, which takes as long as in the row below for a raw put of as many bytes: awaited one by one, neither " +
  "can begin before the other has ended. The mean is what three checkpoints make of it that are written meanwhile: 58 parts of 210 kB, 3 to " +
  "7 ms each. IDBFS has one object store, and no transaction on it overtakes another.";

export const remarks: Readonly<Record<string, string>> = {
  "load-deferred":
    "by a profile of 6.9 µs, reading the entity out of JavaScript into a block takes 1.7 (its strings are not in any cache), the core 2.8, " +
    "storing what was written before 0.9 (half of it the browser's own clone of the bytes), keeping the block for another tab 0.3, garbage " +
    "collection and the reply 0.3.",
  "load-relaxed": waitingLoad(1.25),
  "load-strict": waitingLoad(1.5),
  "load-ten-strict":
    "up to ten transactions share a segment, so what is left is the page's thread (as in the first row, and 2 µs more for promises and " +
    "copies of what waits) and the checkpoints that are written meanwhile.",
  "insert-deferred":
    "by a profile of 16.6 µs, encoding takes 3.1, the core 4.4, decoding the ETag 1.3, storing what was written before 1.7, garbage " +
    "collection 2.4, and what a call takes of promises, objects and the browser itself the rest. A transaction of a hundred pays most of " +
    "that once.",
  "insert-puts-relaxed": insert(0.6, 0.06, 0.46, 0.4),
  "insert-puts-strict": insert(0.9, 0.06, 0.79, 0.7),
  "in-flight":
    "by a profile of 15.3 µs, encoding takes 2.5, the core 5.4, storing 1.9 (one segment for a thousand), garbage collection 1.7, and the " +
    "promises and copies of a write that waits for its turn the rest.",
  get:
    "by a profile of 4.8 µs in which rows were asked for at random, finding the row takes 1.2 (most of it waiting for memory), the way in and " +
    "out of the module 0.5, text 0.9 (one call of TextDecoder), making the object 1.1, the promise and the call the rest.",
  partition:
    "by a profile of 47 µs with partitions asked for at random, looking at the rows takes 18 (30 leaves that are in no cache), parsing and " +
    "planning the filter 8, the page that is given 11, the iterator 5.",
  merge:
    "by a profile of 13.2 µs, the core takes 6.3 (1.7 of it finding the row, in no cache), storing 1.8, encoding 1, the rest is what a call " +
    "takes.",
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
