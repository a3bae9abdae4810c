// Tests the messages of HTTP requests and responses against the layout in core/rest/http_codec.h.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StoreError } from "../../web/src/errors.ts";
import {
  decodeHttpResponse,
  encodeHttpRequest,
  isBodyPending,
  isHttpResponseMessage,
  newRequestId,
} from "../../web/src/rest/http-message.ts";
import { platformRandom } from "../../web/src/util/random.ts";

const request = {
  method: "PUT",
  url: "http://h/t",
  headers: [
    ["a", "b"],
    ["name", "\xe9"],
  ] as [string, string][],
  body: new Uint8Array([1, 2, 0]),
  clientIp: "10.0.0.1",
};

function response(status: number, reason: string, headers: [string, string][], body: string) {
  const texts = [reason, ...headers.flat()];
  const message = new Uint8Array(16 + headers.length * 8 + texts.join("").length + body.length);
  const view = new DataView(message.buffer);
  message[0] = 65;
  message[1] = 1;
  view.setUint16(2, status, true);
  view.setUint32(4, reason.length, true);
  view.setUint32(8, body.length, true);
  view.setUint32(12, headers.length, true);
  let at = 16;
  for (const text of headers.flat()) {
    view.setUint32(at, text.length, true);
    at += 4;
  }
  for (const text of [...texts, body]) {
    message.set(Buffer.from(text, "latin1"), at);
    at += text.length;
  }
  return message;
}

describe("a request message", () => {
  test("has the documented layout", () => {
    const message = encodeHttpRequest(request, platformRandom);
    const view = new DataView(message.buffer);
    const words = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => view.getUint32(from + i * 4, true));
    assert.deepEqual([...message.subarray(0, 4)], [64, 1, 0, 0]);
    assert.deepEqual(words(4, 5), [3, 10, 8, 3, 2]);
    assert.deepEqual(words(40, 4), [1, 1, 4, 1]);
    assert.equal(
      Buffer.from(message.subarray(56)).toString("latin1"),
      "PUThttp://h/t10.0.0.1abname\xe9\x01\x02\0",
    );
  });

  test("contains whether the request is trusted", () => {
    const message = encodeHttpRequest({ ...request, trusted: true }, platformRandom);
    assert.deepEqual([...message.subarray(0, 4)], [64, 1, 1, 0]);
  });

  test("contains whether the body is pending", () => {
    const pending = encodeHttpRequest({ ...request, bodyPending: true }, platformRandom);
    assert.deepEqual([...pending.subarray(0, 4)], [64, 1, 2, 0]);
    assert(isBodyPending(pending));
    const both = { ...request, bodyPending: true, trusted: true };
    assert.deepEqual([...encodeHttpRequest(both, platformRandom).subarray(0, 4)], [64, 1, 3, 0]);
    const complete = encodeHttpRequest({ ...request, trusted: true }, platformRandom);
    assert(!isBodyPending(complete));
    const otherKind = pending.map((byte, i) => (i === 0 ? 65 : byte));
    assert(!isBodyPending(otherKind));
  });

  test("has the id that the request was given", () => {
    const id = newRequestId({ fill: (bytes) => void bytes.fill(9) });
    assert.deepEqual([...id], Array(16).fill(9));
    const message = encodeHttpRequest({ ...request, id }, { fill: () => assert.fail("unused") });
    assert.deepEqual([...message.subarray(24, 40)], [...id]);
  });

  test("has a new random id each time", () => {
    const ids = Array.from({ length: 10 }, () =>
      Buffer.from(encodeHttpRequest(request, platformRandom).subarray(24, 40)).toString("hex"),
    );
    assert.equal(new Set(ids).size, 10);
  });

  test("has the id of the given source of randomness", () => {
    const message = encodeHttpRequest(request, { fill: (bytes) => void bytes.fill(7) });
    assert.deepEqual([...message.subarray(23, 41)], [0, ...Array(16).fill(7), 1]);
  });

  test("encodes text beyond Latin-1 as UTF-8", () => {
    const message = encodeHttpRequest(
      { ...request, headers: [["a", "\u20ac"]], body: new Uint8Array() },
      platformRandom,
    );
    assert.deepEqual([...message.subarray(-4)], [0x61, 0xe2, 0x82, 0xac]);
  });
});

describe("a response message", () => {
  test("is decoded part by part, as copies", () => {
    const message = response(
      409,
      "Con\xe9",
      [
        ["a", "bc"],
        ["d", ""],
      ],
      "{}",
    );
    const larger = new Uint8Array(message.length + 5);
    larger.set(message, 3);
    const view = larger.subarray(3, 3 + message.length);
    assert(isHttpResponseMessage(view));
    const answer = decodeHttpResponse(view);
    larger.fill(0);
    assert.equal(answer.status, 409);
    assert.equal(answer.reason, "Con\xe9");
    assert.deepEqual(answer.headers, [
      ["a", "bc"],
      ["d", ""],
    ]);
    assert.equal(Buffer.from(answer.body).toString(), "{}");
    assert.equal(answer.body.buffer.byteLength, 2);
  });

  test("has one character for each octet, even if the octets are UTF-8", () => {
    const all = String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i));
    for (const text of [
      all,
      "\x80",
      "\xff",
      "\xc3\xa9",
      "\xef\xbb\xbfab",
      "\xef\xbf\xbd",
      "\0\x7f",
    ]) {
      const { reason, headers } = decodeHttpResponse(response(200, text, [["n", text]], "b"));
      assert.deepEqual([reason, headers], [text, [["n", text]]]);
    }
  });

  test("may have text of any length", () => {
    const long = "x".repeat(100_000);
    assert.deepEqual(decodeHttpResponse(response(200, "OK", [["h", long]], "")).headers, [
      ["h", long],
    ]);
  });

  test("of another version is rejected", () => {
    const message = response(200, "OK", [], "");
    message[1] = 2;
    assert.throws(
      () => decodeHttpResponse(message),
      (error) => {
        assert(error instanceof StoreError);
        return error.code === "VersionConflict";
      },
    );
    assert(!isHttpResponseMessage(new Uint8Array([15, 1])));
  });
});
