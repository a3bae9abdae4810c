// Tests how a client's unstored deferred writes, and its calls without a response, go to the next
// owner: CallClient and CallServer with a simulated store.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { StoreError } from "../../web/src/errors.ts";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { CallClient, type OwnerSession } from "../../web/src/tabs/call-client.ts";
import { CallServer } from "../../web/src/tabs/call-server.ts";
import {
  type RemoteCall,
  type ToClient,
  type ToOwner,
  writesInFlightMax,
} from "../../web/src/tabs/messages.ts";
import { repeatWrites } from "../../web/src/tabs/repeat-writes.ts";
import type { OwnerHost, RepeatedWrites, WriteOrigin } from "../../web/src/transport.ts";
import { wrapInCall } from "../../web/src/util/call-message.ts";
import { chunkedFile } from "../../web/src/util/chunks.ts";

const clientId = new Uint8Array(16).fill(1);

const numberOf = (request: Uint8Array) => new DataView(request.buffer).getUint16(8, true);

function errorResponse(statusCode: number): Uint8Array {
  const response = new Uint8Array(20);
  new DataView(response.buffer).setUint32(16, statusCode, true);
  return response;
}

// A store that keeps the numbers of the calls that it applied.
class SimulatedOwner {
  known: number[] = [];
  droppedThrough = 0;
  lastCommit = 0;
  repeated: number[][] = []; // the numbers of each call of repeatWrites()
  partial = Number.POSITIVE_INFINITY; // how many writes one call applies at most
  rejects = (_number: number): Error | undefined => undefined;
  status = (_number: number) => 204;
  readonly deferredPositions = { accepted: 0, stored: 0 };

  knownCalls = async () => ({
    numbers: [...this.known],
    droppedThrough: this.droppedThrough,
    isFinal: true,
  });

  async repeatWrites(requests: readonly Uint8Array[]): Promise<RepeatedWrites> {
    const numbers = requests.slice(0, this.partial).map(numberOf);
    this.repeated.push(numbers);
    for (const number of numbers) {
      const error = this.rejects(number);
      if (error !== undefined) throw error;
    }
    const failed = numbers.map((number) => this.status(number) >= 400);
    this.known.push(...numbers.filter((_, i) => !failed[i]));
    const responses = numbers.map((number) => errorResponse(this.status(number)));
    return { responses, failed };
  }

  // Acknowledges the write before it is stored.
  #write(request: Uint8Array, onDeferred: WriteOrigin): Uint8Array {
    this.known.push(numberOf(request));
    this.deferredPositions.accepted += 1;
    if (typeof onDeferred === "function") onDeferred(this.deferredPositions.accepted);
    return errorResponse(204);
  }

  get host(): OwnerHost {
    const { knownCalls, deferredPositions } = this;
    const status = { pendingBytes: 0 };
    const repeat = (requests: readonly Uint8Array[]) => this.repeatWrites(requests);
    const write = (request: Uint8Array, _: unknown, __: unknown, onDeferred: WriteOrigin) =>
      this.#write(request, onDeferred);
    const host = { knownCalls, repeatWrites: repeat, write, deferredPositions, status };
    const { lastCommit } = this;
    return { ...host, lastCommit, on: () => () => {} } as unknown as OwnerHost;
  }
}

interface Report {
  message: string;
  retryInMs: number | undefined;
}

// A client with a log of what it reports.
function newClient(): { client: CallClient; reports: Report[] } {
  const reports: Report[] = [];
  const client = new CallClient(clientId, ({ message }, retryInMs) =>
    reports.push({ message, retryInMs }),
  );
  return { client, reports };
}

function serve(client: CallClient, owner: SimulatedOwner): void {
  client.connect(link(client, owner));
}

// Returns a connection of the client to the owner.
function link(client: CallClient, owner: SimulatedOwner): OwnerSession {
  const post = (message: ToClient) => {
    if (message.type === "responses")
      client.settleCalls(message.responses, message.stored, message.lastCommit);
  };
  const server = new CallServer(owner.host, "o", {
    post: (message) => post(message as ToClient),
    close() {},
  });
  const { lastCommit } = owner;
  const toServer = (message: ToOwner) => server.receive(message);
  return { owner: "o", session: 0, lastCommit, post: toServer };
}

const deferred = (...numbers: number[]) =>
  numbers.map((callNumber) => ({ request: new Uint8Array(8), callNumber, appliedAfter: 0 }));

async function turns(): Promise<void> {
  for (let i = 0; i < 20; ++i) await turn();
}

function mockTimers(t: TestContext): { tick(ms: number): Promise<void> } {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return {
    async tick(ms) {
      t.mock.timers.tick(ms);
      await turns();
    },
  };
}

const lost = (count: string, cause: string) =>
  `The store's owner changed, and ${count} could not be applied again: ${cause}`;

describe("unstored deferred writes", () => {
  test("that an owner applied in part are completed by the next attempt", async (t) => {
    const { tick } = mockTimers(t);
    const owner = new SimulatedOwner();
    const { client, reports } = newClient();
    let isFirst = true;
    owner.rejects = (number) => {
      if (number !== 2 || !isFirst) return undefined;
      isFirst = owner.repeated.at(-1)?.length !== 1; // alone, it is rejected for the last time
      return new StorageError("aborted", "no connection");
    };
    client.resend(deferred(1, 2, 3));
    serve(client, owner);
    await turns();
    assert.deepEqual(owner.known, [1], "the writes after a rejected one are not applied");
    assert.deepEqual(reports, [{ message: "no connection", retryInMs: 1000 }]);
    assert.equal(client.pendingCount, 3);
    await tick(1000);
    assert.deepEqual(owner.known, [1, 2, 3]);
    assert.equal(client.pendingCount, 0, "all are stored");
  });

  test("are sent again after 1 s, 2 s, 4 s, … at most 30 s", async (t) => {
    const { tick } = mockTimers(t);
    const owner = new SimulatedOwner();
    owner.rejects = () => new StorageError("quota", "no space");
    const { client, reports } = newClient();
    client.resend(deferred(1));
    serve(client, owner);
    await turns();
    for (let i = 0; i < 6; ++i) await tick(reports.at(-1)?.retryInMs ?? 0);
    const delays = reports.map(({ retryInMs }) => retryInMs);
    assert.deepEqual(delays, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    owner.rejects = () => undefined;
    await tick(30_000);
    assert.deepEqual(owner.known, [1]);
  });

  test("do not wait forever for one that can never be applied", async (t) => {
    const { tick } = mockTimers(t);
    const owner = new SimulatedOwner();
    owner.rejects = (number) =>
      number === 2 ? new StoreError("WasmLoadFailed", "not found") : undefined;
    const { client, reports } = newClient();
    client.resend(deferred(1, 2, 3));
    serve(client, owner);
    await turns();
    for (let i = 1; i < 5; ++i) await tick(reports.at(-1)?.retryInMs ?? 0);
    assert.deepEqual(owner.known, [1]);
    await tick(reports.at(-1)?.retryInMs ?? 0);
    assert.deepEqual(owner.known, [1, 3]);
    const message = lost("1 acknowledged write", "not found");
    assert.deepEqual(reports.slice(5), [{ message, retryInMs: undefined }]);
    assert.equal(client.pendingCount, 0);
  });

  test("that fail now are reported together", async () => {
    const owner = new SimulatedOwner();
    owner.status = (number) => (number === 1 ? 204 : 412);
    const { client, reports } = newClient();
    client.resend(deferred(1, 2, 3));
    serve(client, owner);
    await turns();
    const message = lost("2 acknowledged writes", "The service responded with status 412.");
    assert.deepEqual(reports, [{ message, retryInMs: undefined }]);
    assert.equal(client.pendingCount, 0);
  });

  test("that fail before another one is rejected are reported too", async (t) => {
    const { tick } = mockTimers(t);
    const owner = new SimulatedOwner();
    owner.status = (number) => (number === 1 ? 409 : 204);
    owner.rejects = (number) =>
      number === 3 ? new StorageError("aborted", "no connection") : undefined;
    const { client, reports } = newClient();
    client.resend(deferred(1, 2, 3));
    serve(client, owner);
    await turns();
    const message = lost("1 acknowledged write", "The service responded with status 409.");
    const retry = { message: "no connection", retryInMs: 1000 };
    assert.deepEqual(reports, [{ message, retryInMs: undefined }, retry]);
    owner.rejects = () => undefined;
    await tick(1000);
    assert.deepEqual(owner.known, [2, 3]);
  });

  test("that an owner left out while it applied later ones are reported", async () => {
    const owner = new SimulatedOwner();
    owner.known = [1, 3];
    const { client, reports } = newClient();
    client.resend(deferred(1, 2, 3, 4));
    serve(client, owner);
    await turns();
    assert.deepEqual(owner.repeated, [[4]], "the second one would be applied after the third");
    const cause = "A later write was applied, and this one was not.";
    const message = lost("1 acknowledged write", cause);
    assert.deepEqual(reports, [{ message, retryInMs: undefined }]);
  });

  test("that the store has forgotten are not applied again", async () => {
    const owner = new SimulatedOwner();
    owner.known = Array.from({ length: 64 }, (_, i) => 100 + i);
    const { client, reports } = newClient();
    client.resend(deferred(7, 164));
    serve(client, owner);
    await turns();
    assert.deepEqual(owner.repeated, [[164]]);
    assert.deepEqual(reports, []);
    assert.equal(client.pendingCount, 0);
  });

  test("are not applied again if the store may have applied and forgotten them", async () => {
    for (const [droppedThrough, known] of [
      [5, []],
      [6, []],
      [6, [1]],
    ] as const) {
      const owner = new SimulatedOwner();
      owner.lastCommit = 5;
      const { client, reports } = newClient();
      serve(client, owner);
      client.disconnect();
      client.resend(deferred(1, 2).map((write) => ({ ...write, appliedAfter: 5 })));
      Object.assign(owner, { lastCommit: 9, droppedThrough, known: [...known] });
      serve(client, owner);
      await turns();
      const isForgotten = droppedThrough > 5 && known.length === 0;
      assert.deepEqual(owner.repeated, isForgotten ? [] : [[1, 2].slice(known.length)]);
      const cause = "The store has forgotten which calls of this tab it applied";
      const start = lost("2 acknowledged writes", cause);
      assert.deepEqual(
        reports.map(({ message }) => message.startsWith(start)),
        isForgotten ? [true] : [],
      );
      assert.equal(client.pendingCount, 0);
    }
  });

  // The owner has forgotten the calls that it applied by commits 1 to 6.
  const forgetful = (known: number[] = []) =>
    Object.assign(new SimulatedOwner(), { lastCommit: 9, droppedThrough: 6, known });

  test("may be forgotten if the next owner uses the numbers of lost commits again", async () => {
    const { client, reports } = newClient();
    client.resend([{ request: new Uint8Array(8), callNumber: 1, appliedAfter: 8 }]);
    const post = () => {}; // the owner ends before it responds
    client.connect({ owner: "o", session: 0, lastCommit: 4, post });
    const owner = forgetful();
    serve(client, owner);
    await turns();
    assert.deepEqual(owner.repeated, []);
    assert.equal(reports.length, 1);
  });

  test("cannot be forgotten if the owner that got them had forgotten others before", async () => {
    const first = new SimulatedOwner();
    const { client, reports } = newClient();
    first.lastCommit = 6;
    client.connect({ ...link(client, first), lastCommit: 0 }); // others have written since
    await client.request("write", new Uint8Array(8), "deferred");
    const next = forgetful();
    serve(client, next);
    await turns();
    assert.deepEqual([next.repeated, reports], [[[1]], []]);
  });

  test("may be forgotten if an owner applied them before its last response", async () => {
    const { client, reports } = newClient();
    const written = client.request("write", new Uint8Array(8), "deferred");
    // The response is lost, and the client connects again.
    const value = { known: [], droppedThrough: 0, isFinal: false, failed: [] };
    const post = (message: ToOwner) => {
      const [call] = message.type === "calls" ? message.calls : [];
      if (call?.kind === "recover") client.settleCalls([{ number: call.number, value }]);
    };
    client.connect({ owner: "o", session: 0, lastCommit: 1, post });
    await turns();
    const first = Object.assign(new SimulatedOwner(), { lastCommit: 9, known: [1] });
    first.deferredPositions.accepted = 1; // it has applied the write, but not stored it
    serve(client, first);
    await written;
    const next = forgetful();
    serve(client, next);
    await turns();
    assert.deepEqual(next.repeated, []);
    assert.equal(reports.length, 1);
  });

  test("before a known one are reported as forgotten if the store may have forgotten them", async () => {
    for (const [appliedAfter, cause] of [
      [5, "The store has forgotten which calls of this tab it applied"],
      [6, "A later write was applied, and this one was not."],
    ] as const) {
      const { client, reports } = newClient();
      client.resend([{ request: new Uint8Array(8), callNumber: 1, appliedAfter }]);
      serve(client, forgetful([2]));
      await turns();
      assert.equal(reports.length, 1);
      assert(reports[0]?.message.startsWith(lost("1 acknowledged write", cause)));
    }
  });

  test("are applied in groups of a megabyte, in order, and one by one if a group fails", async () => {
    const owner = new SimulatedOwner();
    const writes = Array.from({ length: 7 }, (_, i) => ({
      number: i + 1,
      request: wrapInCall(new Uint8Array(400_000), clientId, i + 1),
      appliedAfter: 0,
    }));
    const { signal } = new AbortController();
    const options = { leavesOut: true, signal };
    owner.rejects = (number) =>
      number === 5 ? new StoreError("OutOfMemory", "too large") : undefined;
    const { failed, error } = await repeatWrites(owner.host, writes, options);
    assert.equal(error, undefined);
    assert.deepEqual(
      failed.map(({ number }) => number),
      [5],
    );
    assert.deepEqual(owner.repeated, [[1, 2, 3], [4, 5, 6], [4], [5], [6], [7]]);
    owner.partial = 2;
    owner.rejects = () => undefined;
    owner.repeated = [];
    await repeatWrites(owner.host, writes, options);
    assert.deepEqual(owner.repeated, [[1, 2], [3, 4], [5, 6], [7]]);
  });

  test("count as pending, and make reads wait", async () => {
    const owner = new SimulatedOwner();
    const { client } = newClient();
    assert.equal(client.readsWait, false);
    serve(client, owner);
    client.disconnect();
    client.resend(deferred(1));
    assert.equal(client.readsWait, true);
    assert.equal(client.bytesToRepeat, 40);
    serve(client, owner);
    await turns();
    assert.equal(client.readsWait, false);
    assert.equal(client.bytesToRepeat, 0);
  });

  test("are reported if the tab ends before an owner has them", async () => {
    const { client, reports } = newClient();
    client.disconnect();
    client.resend(deferred(1, 2));
    client.reportLost(new Error("over"));
    const message = lost("2 acknowledged writes", "over");
    assert.deepEqual(reports, [{ message, retryInMs: undefined }]);
  });
});

describe("calls without a response", () => {
  // Returns the calls that the client sends to an owner that knows these calls of it.
  const sentTo = async (
    client: CallClient,
    known: number[],
    { lastCommit = 0, droppedThrough = 0, isFinal = false } = {},
  ): Promise<RemoteCall[]> => {
    const value = { known, droppedThrough, isFinal, failed: [] };
    const sent: RemoteCall[] = [];
    const post = (message: ToOwner) => {
      if (message.type !== "calls") return;
      sent.push(...message.calls);
      for (const { kind, number } of message.calls)
        if (kind === "recover") client.settleCalls([{ number, value }], 0);
    };
    client.connect({ owner: "o", session: 0, lastCommit, post });
    await turns();
    return sent.filter(({ kind }) => kind !== "recover");
  };
  const kinds = (calls: RemoteCall[]) => calls.map(({ kind }) => kind);

  test("include a restore, although a later write was stored", async () => {
    const { client } = newClient();
    void client.restore(chunkedFile(new Uint8Array(8)), "merge");
    const written = client.request("write", new Uint8Array(8));
    assert.deepEqual(kinds(await sentTo(client, [])), ["restore", "write"]);
    assert.deepEqual(kinds(await sentTo(client, [2])), ["restore", "write"]);
    client.settleCalls([{ number: 2, value: new Uint8Array(1) }]);
    await written;
  });

  test("are rejected if a later write was stored, as unknown if they may be forgotten", async () => {
    const { client } = newClient();
    const first = client.request("write", new Uint8Array(8));
    for (let i = 0; i < 99; ++i) client.reserveCallNumber();
    const second = client.request("write", new Uint8Array(8));
    const rejected = Promise.all([
      assert.rejects(first, { code: "ConnectionLost", uncertain: true }),
      assert.rejects(second, /had no effect/),
    ]);
    const known = Array.from({ length: 65 }, (_, i) => 60 + i).filter((number) => number !== 101);
    assert.deepEqual(await sentTo(client, known), []);
    await rejected;
  });

  test("are sent again unless the store may have applied and forgotten them", async () => {
    for (const [droppedThrough, isForgotten] of [
      [5, false],
      [6, true],
    ] as const) {
      const { client } = newClient();
      const write = client.request("write", new Uint8Array(8));
      const restored = client.restore(chunkedFile(new Uint8Array(8)), "replace");
      assert.deepEqual(kinds(await sentTo(client, [], { lastCommit: 5 })), ["write", "restore"]);
      const unsent = client.request("write", new Uint8Array(8));
      const settled = Promise.allSettled([write, restored]);
      client.disconnect();
      const later = client.request("write", new Uint8Array(8));
      const sent = kinds(await sentTo(client, [], { lastCommit: 9, droppedThrough }));
      const fresh = ["write", "write"];
      assert.deepEqual(sent, isForgotten ? fresh : ["write", "restore", ...fresh]);
      for (const result of isForgotten ? await settled : []) {
        const { code, uncertain, hint } = result.status === "rejected" ? result.reason : {};
        assert.deepEqual([code, uncertain], ["ConnectionLost", true]);
        assert.match(hint, /Read the data/);
      }
      client.rejectAll(new Error("over"));
      await Promise.allSettled([write, restored, unsent, later]);
    }
  });

  test("may be forgotten if the next owner uses the numbers of lost commits again", async () => {
    const { client } = newClient();
    const write = client.request("write", new Uint8Array(8));
    const rejected = assert.rejects(write, { code: "ConnectionLost", uncertain: true });
    assert.deepEqual(kinds(await sentTo(client, [], { lastCommit: 9 })), ["write"]);
    assert.deepEqual(kinds(await sentTo(client, [], { lastCommit: 4 })), ["write"]);
    assert.deepEqual(await sentTo(client, [], { lastCommit: 9, droppedThrough: 5 }), []);
    await rejected;
  });

  test("cannot be forgotten if they were not applied when others were", async () => {
    const { client } = newClient();
    const write = client.request("write", new Uint8Array(8));
    assert.deepEqual(kinds(await sentTo(client, [], { lastCommit: 1 })), ["write"]);
    // No earlier owner can apply it any more, so only this one can.
    assert.deepEqual(kinds(await sentTo(client, [], { lastCommit: 8, isFinal: true })), ["write"]);
    const next = { lastCommit: 9, droppedThrough: 8 };
    assert.deepEqual(kinds(await sentTo(client, [], next)), ["write"]);
    client.settleCalls([{ number: 1, value: new Uint8Array(1) }]);
    await write;
  });

  test("cannot be forgotten if the owner's responses say that it forgot others before", async () => {
    const { client } = newClient();
    assert.deepEqual(await sentTo(client, [], { lastCommit: 1 }), []);
    client.settleCalls([], 0, 8);
    const write = client.request("write", new Uint8Array(8));
    await turns();
    const next = { lastCommit: 9, droppedThrough: 8 };
    assert.deepEqual(kinds(await sentTo(client, [], next)), ["write"]);
    client.settleCalls([{ number: 1, value: new Uint8Array(1) }]);
    await write;
  });

  test("have an unknown outcome if they are aborted after an owner got them", async () => {
    const { client } = newClient();
    const abort = new AbortController();
    const call = client.request("write", new Uint8Array(8), "strict", abort.signal);
    assert.deepEqual(kinds(await sentTo(client, [])), ["write"]);
    client.disconnect();
    abort.abort();
    await assert.rejects(call, { code: "ConnectionLost", uncertain: true });
    const unsent = new AbortController();
    const later = client.request("write", new Uint8Array(8), "strict", unsent.signal);
    unsent.abort();
    await assert.rejects(later, { name: "AbortError" });
  });
});

// What the client sends to one owner. The owner's calls get responses only from the test.
class SilentOwner {
  readonly posted: ToOwner[] = [];
  readonly client: CallClient;
  readonly name: string;

  constructor(client: CallClient, name: string) {
    this.client = client;
    this.name = name;
  }

  // Connects the client, and tells it that the store knows these calls of it.
  async connect(known: number[] = []): Promise<void> {
    const post = (message: ToOwner) => void this.posted.push(message);
    this.client.connect({ owner: this.name, session: 1, lastCommit: 0, post });
    const { number } = this.#call("recover");
    const value = { known, droppedThrough: 0, isFinal: true, failed: [] };
    this.client.settleCalls([{ number, value }]);
    await turns();
  }

  #call(kind: RemoteCall["kind"]): RemoteCall {
    const calls = this.posted.flatMap((message) => (message.type === "calls" ? message.calls : []));
    return calls.find((call) => call.kind === kind) as RemoteCall;
  }

  // The number of the restore that this owner got.
  get restore(): number {
    return this.#call("restore").number;
  }

  get chunks() {
    return this.posted.filter((message) => message.type === "chunk");
  }

  pull(): Promise<void> {
    return this.client.sendChunk({ session: 1, number: this.restore });
  }
}

describe("the file of a restore", () => {
  test("is read again for the next owner, even if the earlier reading then fails", async () => {
    const { client } = newClient();
    let reads = 0;
    let failFirst = (_: Error) => {};
    const file = {
      async *chunks() {
        if (reads++ === 0) await new Promise((_, reject) => (failFirst = reject));
        yield new Uint8Array(1);
        yield new Uint8Array(2);
      },
      cancel() {},
    };
    const restored = client.restore(file, "replace");
    const [first, second] = [new SilentOwner(client, "a"), new SilentOwner(client, "b")];
    await first.connect();
    const pulled = first.pull();
    await second.connect();
    await second.pull();
    failFirst(new Error("The earlier reading fails."));
    await pulled;
    await second.pull();
    await second.pull();
    const lengths = second.chunks.map(({ bytes }) => bytes?.length);
    assert.deepEqual(lengths, [1, 2, undefined]);
    assert.deepEqual(first.chunks, []);
    const value = { tables: 0, rows: 0 };
    client.settleCalls([{ number: second.restore, value }]);
    assert.deepEqual(await restored, value);
  });

  test("ends with an error for the owner if the call has ended", async () => {
    const { client } = newClient();
    const restored = client.restore(chunkedFile(new Uint8Array(8)), "replace");
    const owner = new SilentOwner(client, "a");
    await owner.connect();
    const rejected = assert.rejects(restored, /over/);
    client.rejectAll(new Error("over"));
    await rejected;
    await owner.pull();
    assert.deepEqual(
      owner.chunks.map(({ error }) => error?.name),
      ["AbortError"],
    );
  });

  test("is cancelled if it is a stream and the owner changes", async () => {
    const { client } = newClient();
    let isCancelled = false;
    const pull = (controller: ReadableStreamDefaultController) =>
      controller.enqueue(new Uint8Array(10));
    const cancel = () => {
      isCancelled = true;
    };
    const stream = new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0 });
    const restored = client.restore(chunkedFile(stream), "replace");
    const rejected = assert.rejects(restored, { code: "ConnectionLost" });
    const [first, second] = [new SilentOwner(client, "a"), new SilentOwner(client, "b")];
    await first.connect();
    await first.pull();
    await second.connect();
    await second.pull();
    await rejected;
    assert.ok(isCancelled);
  });
});

describe("the error of a restore that was sent to two owners", () => {
  const damaged = { name: "StoreError", message: "damaged", code: "Corrupted" } as const;
  const outcome = async (mode: "replace" | "merge", known: number[]) => {
    const { client } = newClient();
    const restored = client.restore(chunkedFile(new Uint8Array(8)), mode);
    await new SilentOwner(client, "a").connect();
    const owner = new SilentOwner(client, "b");
    await owner.connect(known);
    client.settleCalls([{ number: owner.restore, error: damaged }]);
    return await restored.catch(({ code, uncertain }) => [code, uncertain === true]);
  };

  test("is the second owner's if the store knows that the first did not replace", async () => {
    assert.deepEqual(await outcome("replace", []), ["Corrupted", false]);
  });

  test("is an unknown outcome if the first may have restored", async () => {
    const unknown = ["ConnectionLost", true];
    assert.deepEqual(await outcome("merge", []), unknown);
    assert.deepEqual(await outcome("replace", [1]), unknown);
    const many = Array.from({ length: writesInFlightMax }, (_, i) => 10 + i);
    assert.deepEqual(await outcome("replace", many), unknown);
  });
});
