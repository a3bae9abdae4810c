// Tests the properties of errors that callers use.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { AbortError, RestError, StoreError, serviceError } from "../../web/src/errors.ts";

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
