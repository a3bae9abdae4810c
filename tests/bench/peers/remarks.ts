// Why a target is missed, by row: printed below the tables of runs that missed it. Figures in braces are those of the same run, by row; the others
// were measured, and are to be measured again when what they are about has changed: by `tests/bench/run peers --profile --only entitable
// --rounds 1`, whose first line of each row has the shares of the parts, or as said.

const waits = (row: string) =>
  `half of them take {${row}-before} ms until the browser has everything, {${row}-browser} in the browser, and {${row}-behind} until the caller goes on.`;

const insert = (level: string) =>
  `${waits(`insert-${level}`)} What is more than a put's runs once in a millisecond and finds no cache warm: encoding, the core, sealing a segment, and the same ` +
  "two calls of IndexedDB. The form that IDBFS asks for is a part of it, as the rows beside this one say.";

const waitingLoad = (level: string) =>
  `${waits(`load-${level}`)} Awaited one by one, neither the page's thread nor the browser can begin before the other has ended: so it is what the raw ` +
  `puts below take, {put-group-file-${level}} µs in the form in which IDBFS keeps files, and what the page's thread takes for it, {load-deferred} where nobody waits.`;

const warmingUp =
  "The browser compiles what it runs often anew and better, in the background, which is done after some ten thousand such calls.";

export const remarks: Readonly<Record<string, string>> = {
  "load-deferred":
    "by a profile of scripts, a quarter is the core, a fifth reading the entities out of JavaScript into blocks, a sixth storing what was " +
    "written before (half of it the browser's own clone of the bytes), a quarter garbage collection, the rest the way through the queue. " +
    warmingUp,
  "load-relaxed": waitingLoad("relaxed"),
  "load-strict": waitingLoad("strict"),
  "load-ten-strict":
    "up to ten transactions share a segment, so what is left is the page's thread: by a profile of scripts a third is storing, with the " +
    "promises of who waits, a quarter garbage collection, encoding and the core an eighth each.",
  "insert-deferred":
    "of 20,000 in a row the first ten thousand take 9 to 25 µs each, those behind them 5.5 to 7, but for those in whose time something is stored. " +
    `${warmingUp} By a profile of scripts a third is the core, a quarter storing, a seventh the host and its queue, a ninth encoding.`,
  "insert-puts-relaxed": insert("relaxed"),
  "insert-puts-strict": insert("strict"),
  "in-flight":
    "by a profile of scripts a quarter each is the core and garbage " +
    "collection, a fifth storing (one segment for a thousand), a sixth the queue.",
  get:
    "the same entity again and again takes 2.4 µs, so 1.1 is waiting for memory: of a row that is in no cache its leaf, the leaf's directory and " +
    "the row, each found by what stands in the one before. Of the rest more than half is making the object of the row's bytes, a fifth the core.",
  partition:
    "the same partition again and again takes 17 µs, so 7 is waiting for memory, 6 of it for the ten rows, though they are asked for together. A " +
    "scan that finds nothing takes 8: parsing and planning the filter, testing a thousand rows, the iterator. Making ten objects takes 9.",
  merge:
    "by a profile of scripts three fifths are the core (of rows at random, in no cache), an eighth storing, a tenth the host and its queue. " +
    warmingUp,
  "merge-if": "as in the row above, with the ETag to encode and compare.",
  "memory-load":
    "a page that makes the same entities and only puts as many bytes has what the row below says. Packed rows with the tree above them are 17.6 MB " +
    "(stats()), the package's code, compiled, is some 4. So a page with all rows in memory cannot have much less than 30; the rest is log " +
    "records under way, and what stands free between blocks of the module's memory.",
  transfer:
    "four fifths of it are the module, of whose code (by the names of its functions) more than half is the store itself, a quarter the " +
    "service's protocol with JSON, and a fifth the libraries of C, C++ and Emscripten.",
  open:
    "nearly half is the browser's own, as the row below says, in which the module is not even started. By marks in the page, of 71 ms importing the bundle " +
    "takes 14, fetching and compiling the module 17 (the lock, the database and the glue come beside it), starting it 9, reading and applying the log 12 (the " +
    "browser compiles each function when it is first called), the claim 2, what the first call makes 6, the part with the row 8 (1.5 of it in " +
    "IndexedDB, the rest in code that is not optimised yet: the fifth part takes 3.6 in all), and its reply 3.",
};
