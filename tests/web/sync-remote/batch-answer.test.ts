// Tests what responses to a push mean: those that the service has sent, and those of proxies.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { answerOfBatch } from "../../../web/src/sync-remote/batch-answer.ts";
import type { HttpResponse } from "../../../web/src/sync-remote/http.ts";

const date = 17_000_000_000_000_000n;

function response(status: number, text: string, more: Partial<HttpResponse> = {}): HttpResponse {
  const headers = new Headers();
  const readable = {
    sas: "",
    madeWith: undefined,
    headers,
    mayHideHeaders: false,
    date,
    retryAfterMs: undefined,
  };
  return { status, text, ...readable, ...more };
}

const etag = "W/\"datetime'2024-01-02T03%3A04%3A05.6789012Z'\"";
const version = { etag, timestamp: 17_041_646_456_789_012n };

const isError = "Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8";

const errorJson = (code: string, message: string): string =>
  JSON.stringify({ "odata.error": { code, message: { lang: "en-US", value: message } } });

const part = (status: string, ...lines: string[]): string =>
  [
    "--changesetresponse_b",
    "Content-Type: application/http",
    "Content-Transfer-Encoding: binary",
    "",
    `HTTP/1.1 ${status}`,
    "X-Content-Type-Options: nosniff",
    "Cache-Control: no-cache",
    ...lines,
    "",
    "",
  ].join("\r\n");

const written = part("204 No Content", "DataServiceVersion: 1.0;", `ETag: ${etag}`, "");
const deleted = part("204 No Content", "DataServiceVersion: 1.0;", "");
const refused = (status: string, code: string, message: string): string =>
  part(status, "DataServiceVersion: 3.0;", isError, "", errorJson(code, message)).slice(0, -2);

const batch = (...parts: string[]): string =>
  "--batchresponse_a\r\nContent-Type: multipart/mixed; boundary=changesetresponse_b\r\n\r\n" +
  `${parts.join("")}--changesetresponse_b--\r\n--batchresponse_a--\r\n`;

const answer = (text: string, deletes = [false, false], status = 202) =>
  answerOfBatch(response(status, text), deletes, false);

describe("a batch that was executed", () => {
  test("has a version for each operation but deletes", () => {
    const versions = [version, undefined, version];
    const found = answer(batch(written, deleted, written), [false, true, false]);
    assert.deepEqual(found, { kind: "applied", receipt: undefined, versions });
  });

  test("has the receipt's version first", () => {
    const found = answerOfBatch(response(202, batch(written, deleted)), [false, true], true);
    assert.deepEqual(found, { kind: "applied", receipt: version, versions: [undefined] });
  });

  test("may have lines that end with LF, and other spellings of headers", () => {
    const text = batch(written, written).replaceAll("\r", "").replaceAll("ETag", "etag");
    assert.equal(answer(text).kind, "applied");
    assert.equal(
      answer(text.replace("changesetresponse_b\n", '"changesetresponse_b"\n')).kind,
      "applied",
    );
  });

  test("has the time of the response if an ETag has no Timestamp", () => {
    const text = batch(written.replace(etag, '"0x8D"'), written);
    const versions = [{ etag: '"0x8D"', timestamp: date }, version];
    assert.deepEqual(answer(text), { kind: "applied", receipt: undefined, versions });
  });

  test("is unknown if the response is not complete", () => {
    const text = batch(written, deleted, written);
    for (let length = 0; length < text.trimEnd().length; ++length) {
      const found = answer(text.slice(0, length), [false, true, false]);
      assert.deepEqual(found, { kind: "failed", retryAfterMs: undefined }, `${length}`);
    }
  });

  test("is unknown if operations are missing, or an ETag", () => {
    assert.equal(answer(batch(written)).kind, "failed");
    assert.equal(answer(batch(written, written, written)).kind, "failed");
    assert.equal(answer(batch(written, deleted)).kind, "failed");
    assert.equal(answer(batch()).kind, "failed");
    assert.equal(answer(batch(written, written.replace(etag, "a\u0007b"))).kind, "failed");
  });
});

describe("a batch that was refused", () => {
  const text = "1:The specified entity already exists.\nRequestId:a\nTime:2024-01-02T03:04:05Z";

  test("names the operation by the beginning of the message", () => {
    const found = answer(batch(refused("409 Conflict", "EntityAlreadyExists", text)));
    assert.deepEqual(found, {
      kind: "refused",
      index: 1,
      status: 409,
      code: "EntityAlreadyExists",
    });
  });

  test("is unknown if the response is not complete", () => {
    const whole = batch(refused("409 Conflict", "EntityAlreadyExists", text)).trimEnd();
    for (let length = 0; length < whole.length; ++length) {
      assert.equal(answer(whole.slice(0, length)).kind, "failed", `${length}`);
    }
  });

  test("of one operation may have no number", () => {
    const one = batch(refused("400 Bad Request", "PropertyValueTooLarge", "The property value"));
    const found = answer(one, [false]);
    assert.deepEqual(found, {
      kind: "refused",
      index: 0,
      status: 400,
      code: "PropertyValueTooLarge",
    });
  });

  test("without a number is a conflict of the first operation, or rejected as a whole", () => {
    const conflict = batch(refused("412 Precondition Failed", "UpdateConditionNotSatisfied", "It"));
    assert.deepEqual(answer(conflict), {
      kind: "refused",
      index: 0,
      status: 412,
      code: "UpdateConditionNotSatisfied",
    });
    const other = batch(refused("400 Bad Request", "InvalidInput", "One of the request inputs"));
    assert.deepEqual(answer(other), { kind: "rejected", code: "InvalidInput" });
  });

  test("with a number that no operation has is rejected as a whole", () => {
    const found = answer(batch(refused("400 Bad Request", "InvalidInput", "99:The batch request")));
    assert.deepEqual(found, { kind: "rejected", code: "InvalidInput" });
  });

  test("says that the table is missing", () => {
    const missing = "0:The table specified does not exist.";
    const found = answer(batch(refused("404 Not Found", "TableNotFound", missing)));
    assert.deepEqual(found, { kind: "tableMissing" });
    const whole = answer(errorJson("TableNotFound", missing), [false], 404);
    assert.deepEqual(whole, { kind: "tableMissing" });
    const deleting = refused("409 Conflict", "TableBeingDeleted", "0:The specified table is being");
    assert.deepEqual(answer(batch(deleting)), { kind: "tableMissing" });
    assert.deepEqual(answer(errorJson("TableBeingDeleted", "It"), [false], 409), {
      kind: "tableMissing",
    });
  });

  test("for now is sent again after the time that the response names, with an index or not", () => {
    for (const status of ["408 Timeout", "429 Too Many", "500 Error", "503 Unavailable"]) {
      for (const message of ["The server is busy.", "1:The server is busy."]) {
        const busy = batch(refused(status, "ServerBusy", message));
        const found = answerOfBatch(
          response(202, busy, { retryAfterMs: 7000 }),
          [false, false],
          false,
        );
        assert.deepEqual(found, { kind: "failed", retryAfterMs: 7000 }, `${status} ${message}`);
      }
    }
  });

  test("is unknown if the part is not an error of the service", () => {
    assert.equal(answer(batch(part("409 Conflict", "", "<html></html>"))).kind, "failed");
    const error = refused("409 Conflict", "EntityAlreadyExists", text);
    assert.equal(answer(batch(error, error)).kind, "failed");
  });
});

describe("a request that failed as a whole", () => {
  const html = "<!doctype html><html><code>Forbidden</code></html>";
  const xml = (name: string, code: string) =>
    `\ufeff<?xml version="1.0" encoding="utf-8"?><${name} xmlns:m="x"><${name.replace(/error$/, "code").replace("Error", "Code")}>${code}`;

  test("is unauthorized if the service says so", () => {
    for (const status of [401, 403]) {
      for (const text of [
        errorJson("AuthenticationFailed", "Server failed to authenticate the request."),
        xml("m:error", "AuthenticationFailed"),
        xml("Error", "AuthorizationFailure"),
      ]) {
        assert.deepEqual(answer(text, [false], status), { kind: "unauthorized" }, text);
      }
    }
    const malformed = errorJson("InvalidAuthenticationInfo", "Authentication information is not");
    assert.deepEqual(answer(malformed, [false], 400), { kind: "unauthorized" });
    const unsent = { kind: "unauthorized", lacksCredential: true };
    assert.deepEqual(answerOfBatch("noCredential", [false], false), unsent);
  });

  test("is rejected if a proxy, or the service, will always refuse it", () => {
    for (const status of [400, 401, 403, 404, 405, 413, 414, 431, 451]) {
      const found = answer(html, [false], status);
      assert.deepEqual(found, { kind: "rejected", code: `HTTP ${status}` });
      assert.deepEqual(answer("", [false], status), found);
    }
    const xhtml = "<?xml version='1.0'?><html><error><p/><code>Denied</code></error></html>";
    for (const page of [xhtml, "<html><error><code>Denied</code></error></html>"]) {
      assert.deepEqual(answer(page, [false], 403), { kind: "rejected", code: "HTTP 403" });
    }
    const large = errorJson("RequestBodyTooLarge", "The request body is too large");
    assert.deepEqual(answer(large, [false, false], 413), {
      kind: "rejected",
      code: "RequestBodyTooLarge",
    });
  });

  test("is unknown otherwise", () => {
    for (const status of [0, 200, 204, 302, 307, 408, 429, 500, 501, 502, 503, 504]) {
      for (const text of [
        html,
        "",
        errorJson("ServerBusy", "The server is busy."),
        "null",
        "[1]",
      ]) {
        const found = answer(text, [false], status);
        assert.deepEqual(found, { kind: "failed", retryAfterMs: undefined }, `${status} ${text}`);
      }
    }
    assert.equal(answer(errorJson("TableNotFound", "0:It"), [false], 500).kind, "failed");
    assert.deepEqual(answerOfBatch(undefined, [false], false), { kind: "failed" });
  });

  test("says when to try again", () => {
    const busy = response(503, errorJson("ServerBusy", "Busy"), { retryAfterMs: 7000 });
    assert.deepEqual(answerOfBatch(busy, [false], false), { kind: "failed", retryAfterMs: 7000 });
  });

  test("was not sent if its time had passed", () => {
    assert.deepEqual(answerOfBatch("notSent", [false], false), { kind: "notSent" });
  });
});
