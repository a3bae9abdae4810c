// Objects of another realm, as frames, vm contexts and test runners have them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { openStore } from "../../web/src/index.ts";
import {
  errorMessage,
  isArrayBuffer,
  isBytes,
  isDate,
  isDomException,
  isError,
  isRegExp,
  isUrl,
  toError,
} from "../../web/src/util/platform-objects.ts";

const realm = createContext({});
const inRealm = (code: string) => runInContext(code, realm);

test("objects of another realm are recognized", () => {
  const bytes = inRealm("new Uint8Array([1])");
  assert.ok(!(bytes instanceof Uint8Array));
  assert.ok(isBytes(bytes) && isBytes(Buffer.from([1])));
  assert.ok(isArrayBuffer(inRealm("new ArrayBuffer(1)")));
  assert.ok(isDate(inRealm("new Date()")));
  assert.ok(isRegExp(inRealm("/a/")));
  assert.ok(isUrl(new URL("http://localhost")));
  assert.ok(isError(inRealm("new (class extends TypeError {})()")));
  assert.ok(isError(new DOMException()) && isDomException(new DOMException()));
});

test("subclasses with a tag of their own, and objects without a constructor, are recognized", () => {
  const tag = { get: () => "Tagged" };
  const date = Object.defineProperty(new Date(0), Symbol.toStringTag, tag);
  const error = Object.defineProperty(new Error("lost"), Symbol.toStringTag, tag);
  assert.ok(isDate(date) && isError(error) && isError(Object.create(Error.prototype)));
  const bare = Object.setPrototypeOf(new Error("bare"), Object.create(null));
  assert.equal(isDomException(bare), false);
});

test("other objects are not", () => {
  for (const other of [
    undefined,
    null,
    1,
    "text",
    {},
    [],
    new Uint16Array(1),
    new DataView(inRealm("new ArrayBuffer(1)")),
  ]) {
    for (const is of [isBytes, isArrayBuffer, isDate, isRegExp, isUrl, isError, isDomException])
      assert.equal(is(other), false, `${is.name}: ${String(other)}`);
  }
  assert.equal(isBytes({ [Symbol.toStringTag]: "Uint8Array" }), false);
  assert.equal(isDomException(new TypeError("no")), false);
});

test("a DOMException that is an ordinary subclass of Error is recognized", () => {
  const { DOMException } = { DOMException: class DOMException extends Error {} };
  class AbortError extends DOMException {}
  assert.ok(isDomException(new DOMException()) && isDomException(new AbortError()));
});

test("errors of another realm keep their message", () => {
  const error = inRealm("new Error('lost')");
  assert.equal(errorMessage(error), "lost");
  assert.equal(errorMessage("text"), "text");
  assert.equal(toError(error), error);
  assert.equal(toError(7).message, "7");
});

test("a store takes bytes, dates and snapshots of another realm", async () => {
  const store = await openStore({ persistence: "memory" });
  const lamps = store.table("lamps");
  await lamps.createTable();
  const keys = { partitionKey: "desk", rowKey: "1" };
  await lamps.createEntity({
    ...keys,
    photo: inRealm("new Uint8Array([1, 2])"),
    made: inRealm("new Date(0)"),
  });
  const { photo, made } = await lamps.getEntity("desk", "1");
  assert.deepEqual([...(photo as Uint8Array)], [1, 2]);
  assert.equal((made as Date).getTime(), 0);
  const snapshot = await store.snapshot();
  const copy = inRealm("(bytes) => new Uint8Array(bytes)")(snapshot) as Uint8Array<ArrayBuffer>;
  const blobWithoutStream = { arrayBuffer: async () => copy.buffer } as unknown as Blob;
  for (const source of [copy, copy.buffer, blobWithoutStream]) {
    await lamps.deleteEntity("desk", "1");
    await store.restore(source);
    assert.equal(await lamps.count(), 1);
  }
  await store.close();
});
