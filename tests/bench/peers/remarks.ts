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
    "by a profile of scripts, three tenths each are the core and garbage collection, an eighth each storing what was written before (most of it " +
    "the browser's own clone of the bytes) and reading the entities out of JavaScript into blocks, the rest the way through the queue. " +
    warmingUp,
  "load-relaxed": waitingLoad("relaxed"),
  "load-strict": waitingLoad("strict"),
  "load-ten-strict":
    "ten transactions share one of IndexedDB. They are answered together, and so the next ten are made together: the disk waits for the page's " +
    "thread, and that for the disk. By a profile of scripts, of what the thread does a quarter each is garbage collection and storing, a fifth " +
    "the core, a twelfth each encoding and the queue.",
  "insert-deferred":
    `{insert-first} µs in the first thousand calls of a page, as the row below says. ${warmingUp} By a profile of scripts, three tenths are the ` +
    "core, a fifth each storing and garbage collection, an eighth the host and its queue, a tenth encoding.",
  "insert-puts-relaxed": insert("relaxed"),
  "insert-puts-strict": insert("strict"),
  "in-flight":
    "by a profile of scripts, of what the page's thread does a quarter is the core, a fifth each garbage collection and storing, a sixth the queue; " +
    "then it waits for one transaction of IndexedDB that holds all thousand.",
  get:
    "the same entity again and again takes 2.4 µs, so 1.1 is waiting for memory: of a row that is in no cache its leaf, the leaf's directory and " +
    "the row, each found by what stands in the one before. Of the rest more than half is making the object of the row's bytes, a fifth the core.",
  partition:
    "the same partition again and again takes 17 µs, so 7 is waiting for memory, 6 of it for the ten rows, though they are asked for together. A " +
    "scan that finds nothing takes 8: parsing and planning the filter, testing a thousand rows, the iterator. Making ten objects takes 9.",
  merge:
    "by a profile of scripts more than half is the core (of rows at random, in no cache), a sixth storing, a twelfth the host and its queue. " +
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
    "{open-floor} ms are the browser's own, as the row below says, in which the module is not even started. The browser compiles each function of the module when it " +
    "is first called: by a trace some 600, in 13 ms, most of them while the manifest is applied and while the part with the row is loaded, which takes 7.5 in " +
    "code that is not optimised yet (the fifth part takes 3.6).",
};
