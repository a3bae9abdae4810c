// Tests the properties of errors that callers use.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { AbortError, RestError, StoreError, serviceError } from "../../web/src/errors.ts";
import { rejectWithHint } from "../../web/src/hints/add-hint.ts";

test("a RestError has status, code and details as in the official client", () => {
  const error = serviceError(
    409,
    "EntityAlreadyExists",
    "The specified entity already exists.",
    "Hint.",
  );
  assert(error instanceof Error && error instanceof RestError);
  assert.equal(error.name, "RestError");
  assert.equal(error.message, "The specified entity already exists.");
  assert.equal(error.statusCode, 409);
  assert.equal(error.code, "EntityAlreadyExists");
  assert.equal(error.hint, "Hint.");
  assert.deepEqual(error.details, {
    odataError: {
      code: "EntityAlreadyExists",
      message: { lang: "en-US", value: "The specified entity already exists." },
    },
    errorCode: "EntityAlreadyExists",
  });
});

test("a RestError hides request and response from enumeration", () => {
  const error = new RestError("x", { request: { secret: 1 }, response: { status: 500 } });
  assert.deepEqual(error.request, { secret: 1 });
  assert.deepEqual(error.response, { status: 500 });
  assert.deepEqual(Object.keys(error), ["name"]);
  assert(!inspect(error).includes("secret"));
  assert.equal(JSON.stringify(error), '{"name":"RestError"}');
  assert.equal(RestError.REQUEST_SEND_ERROR, "REQUEST_SEND_ERROR");
  assert.equal(RestError.PARSE_ERROR, "PARSE_ERROR");
});

test("a StoreError has a code and a hint, and a cause only if given", () => {
  const plain = new StoreError("StoreClosed", "closed");
  assert.deepEqual(Object.keys(plain).sort(), ["code", "hint", "name"]);
  assert(!("cause" in plain));
  assert.equal(plain.hint, "Open the store again.");
  const cause = new Error("disk");
  const full = new StoreError("QuotaExceeded", "full", { cause, hint: "Delete data." });
  assert.equal(full.cause, cause);
  assert.equal(full.hint, "Delete data.");
  assert.equal(full.name, "StoreError");
});

test("an AbortError is recognised by its name", () => {
  assert.equal(new AbortError().name, "AbortError");
  assert.equal(new AbortError().message, "The operation was aborted.");
});

process.env["JEST_WORKER_ID"] = "1"; // set by Jest

describe("in development, the stack of an error under Jest", () => {
  const make = () => serviceError(404, "TableNotFound", "No table.\nId: 1", "Create it.");

  test("has the hint as its last line", () => {
    const withFrames =
      /^RestError: No table\.\nId: 1\n {4}at serviceError \([\s\S]*\nhint: Create it\.$/;
    assert.match(make().stack ?? "", withFrames);
    const closed = new StoreError("StoreClosed", "It is closed.");
    assert.match(
      closed.stack ?? "",
      /^StoreError: It is closed\.\n {4}at [\s\S]*\nhint: Open the store again\.$/,
    );
  });

  test("has a hint that is added later, and is unchanged without one", async () => {
    const error = new RestError("x", { code: "ServerBusy" });
    assert.match(error.stack ?? "", /^RestError: x\n {4}at /);
    await assert.rejects(rejectWithHint(error, {}), error);
    assert.match(
      error.stack ?? "",
      /^RestError: x\n {4}at [\s\S]*\nhint: Repeat the call after a while\.$/,
    );
  });

  test("can be replaced", () => {
    const error = make();
    error.stack = "other";
    assert.equal(error.stack, "other");
  });

  test("is what the application's own formatting returns, if that has no message or throws", () => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    try {
      Error.prepareStackTrace = (_, sites) => sites;
      assert(Array.isArray(make().stack));
      Error.prepareStackTrace = () => {
        throw new Error("not formatted");
      };
      assert.equal(make().hint, "Create it.");
      Error.prepareStackTrace = prepareStackTrace as typeof Error.prepareStackTrace;
      Reflect.deleteProperty(Error, "stackTraceLimit");
      assert.equal(make().stack, undefined);
    } finally {
      Object.assign(Error, { prepareStackTrace, stackTraceLimit });
    }
  });

  test("is in no comparison, copy or JSON", () => {
    const error = make();
    assert.equal(error.message, "No table.\nId: 1");
    assert.equal(Object.getOwnPropertyDescriptor(error, "stack")?.enumerable, false);
    assert.doesNotMatch(JSON.stringify(error), /stack/);
    assert.deepEqual(error, make());
    assert.deepEqual({ ...error }, { ...make() });
    assert.equal(structuredClone(error).message, error.message);
  });

  test("is as usual in production, and in Node, whose console prints the hint itself", () => {
    const file = fileURLToPath(new URL("../../web/src/errors.ts", import.meta.url));
    const script = `
      const { StoreError } = await import(${JSON.stringify(file)});
      const error = new StoreError("StoreClosed", "It is closed.");
      console.log(error.stack);
      console.error(error);`;
    const shown = (env: NodeJS.ProcessEnv) =>
      spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
        encoding: "utf8",
        env: { ...process.env, ...env },
      });
    assert.match(shown({ NODE_ENV: "test" }).stdout, /\nhint: Open the store again\.\n$/);
    const usual = /^StoreError: It is closed\.(\n {4}at .*)+\n$/;
    assert.match(shown({ NODE_ENV: "production" }).stdout, usual);
    const { stdout, stderr } = shown({ JEST_WORKER_ID: undefined });
    assert.match(stdout, usual);
    assert.equal(stderr.match(/hint: 'Open the store again\.'/g)?.length, 1);
  });
});
