// Tests how the build changes WebAssembly binaries.

import assert from "node:assert/strict";
import { test } from "node:test";

// A JavaScript file of the build, which has no type declarations.
const path = "../../bindings/wasm-binary.mjs";
const { withoutTableMaximum } = (await import(path)) as {
  withoutTableMaximum(module: Uint8Array): Uint8Array;
};

const magic = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
// A section that imports a table of functions from module "a" by the name "b", with 3 entries.
const tableImport = (...limits: number[]) => {
  const payload = [1, 1, 0x61, 1, 0x62, 1, 0x70, ...limits];
  return [2, payload.length, ...payload];
};
const custom = [0, 2, 1, 0x63];

test("the maximum size of an imported table is removed, and nothing else", () => {
  const module = Uint8Array.from([...magic, ...custom, ...tableImport(1, 3, 9), ...custom]);
  const changed = [...magic, ...custom, ...tableImport(0, 3), ...custom];
  assert.deepEqual([...withoutTableMaximum(module)], changed);
});

test("a module that imports no table, or that is cut off, is refused", () => {
  const whole = [...magic, ...custom, ...tableImport(1, 3, 9)];
  const refused = (bytes: number[]) =>
    assert.throws(() => withoutTableMaximum(Uint8Array.from(bytes)), /ends too early|no table/);
  refused([...magic, ...custom]);
  refused([...magic, 2, 1, 0]);
  for (let length = magic.length; length < whole.length; ++length) refused(whole.slice(0, length));
});
