// Why a target is missed, by row: printed below the tables of runs that missed it. What is said here was measured, and is to be
// measured again when what it is about has changed.

// Chromium 156, inserts and puts in turn; medians of 400, with other work on the machine's two cores.
const insert = (all: number, transaction: number, put: number) =>
  `of ${all} ms the browser's transaction was ${transaction} when a raw put took ${put}, and the page's thread had the rest. ` +
  "Besides the log's entry in IDBFS's form the transaction holds the look whether another tab has gone on with the log.";

export const remarks: Readonly<Record<string, string>> = {
  "insert-puts-relaxed": insert(0.79, 0.66, 0.5),
  "insert-puts-strict": insert(0.86, 0.73, 0.63),
  transfer:
    "four fifths of it are the module, of whose code (by the names of its functions) more than half is the store itself, a quarter the " +
    "service's protocol with JSON, and a fifth the libraries of C, C++ and Emscripten.",
};
