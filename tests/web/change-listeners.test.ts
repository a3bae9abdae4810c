// Tests how the host takes changes from the engine and passes them to its clients, with a simulated
// engine.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../../web/src/errors.ts";
import { ChangeListeners } from "../../web/src/host/change-listeners.ts";
import { listenerEnvironment } from "../../web/src/host/listener-loader.ts";
import type { ChangeListener, ListenerConnection } from "../../web/src/transport.ts";
import { requestKind, responseKind } from "../../web/src/util/engine-message-kinds.ts";
import { PartsNeeded } from "../../web/src/wasm/engine.ts";

const outOfMemory = new StoreError("OutOfMemory", "injected");
const nothingChanged = changesOfWords(9); // two sequences and five counts
const someChange = changesOfWords(11);
const readRequest = Uint8Array.of(requestKind.readWatch);
const page = Uint8Array.of(responseKind.watchPage);
const openFeedRequest = Uint8Array.of(requestKind.openFeed);

// A response to "open feed" (core/rpc/LAYOUT.md); 0: a group is staged.
function feedOpened(id: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(responseKind.listener | (1 << 8), 20, 0, 0, id).buffer);
}

// A response to "take changes" (core/rpc/LAYOUT.md).
function changesOfWords(count: number): Uint8Array {
  const message = new Uint8Array(16 + 4 * count + 4);
  message.set([responseKind.changes, 1, 0, 0, 16 + 4 * count]);
  return message;
}

let taken: (client: number) => Uint8Array; // the response to "take changes"
let read: (client: number) => Uint8Array | PartsNeeded; // the response to "read watch"
let isStaged: boolean; // a group is staged, so that no feed can be opened
let storingError: Error | undefined;
let takes: (() => void)[]; // what is to run before the next change
let closed: number[]; // the clients whose listeners were closed
let load: (error?: Error) => void; // ends loading parts, which has begun
let engineChanged: ((mustTake?: boolean) => void) | undefined;
let listeners: ChangeListeners;

beforeEach(() => {
  taken = () => nothingChanged;
  read = () => page;
  isStaged = false;
  storingError = undefined;
  takes = [];
  closed = [];
  const loading = new Promise<void>((resolve, reject) => {
    load = (error) => (error === undefined ? resolve() : reject(error));
  });
  const engine = {
    stats: () => assert.fail(),
    hasDeferredModule: () => true,
    onChange: undefined,
    runBeforeNextChange: (take: () => void) => void takes.push(take),
    runBeforeOtherCalls() {},
    listen(client: number, [kind]: Uint8Array): Uint8Array | PartsNeeded {
      if (kind === requestKind.takeChanges) return taken(client);
      if (kind === requestKind.closeListeners) closed.push(client);
      if (kind === requestKind.openFeed) return feedOpened(isStaged ? 0 : 7);
      return kind === requestKind.readWatch ? read(client) : Uint8Array.of(responseKind.listener);
    },
  };
  const parts = {
    async loadAndRetry<T>(_needed: PartsNeeded, call: () => T | PartsNeeded): Promise<T> {
      await loading;
      const result = call();
      assert(!(result instanceof PartsNeeded));
      return result;
    },
  };
  const errorOfRead = async (error: unknown) => new Error(`reported: ${(error as Error).message}`);
  const options = {
    engine,
    parts,
    storage: undefined,
    errorOfRead,
    storeReaders: () => assert.fail(),
    storingError: () => storingError,
  };
  listeners = new ChangeListeners(options, listenerEnvironment);
  engineChanged = (mustTake) =>
    (engine.onChange as ((mustTake?: boolean) => void) | undefined)?.(mustTake);
});

// A client that writes down what it learns.
class Client implements ChangeListener {
  readonly news: string[] = [];
  readonly connection: ListenerConnection = listeners.listen(this);

  onChanges(): void {
    this.news.push("changes");
  }
  onChangesEnd(): void {
    this.news.push("end");
  }
  onReset(): void {
    this.news.push("reset");
  }
  onClosed(error: Error): void {
    this.news.push(`closed: ${error.message}`);
  }
  openFeed(): void {
    const respond = (response: Uint8Array) =>
      void this.news.push(
        `feed ${new DataView(response.buffer, response.byteOffset).getUint32(16, true)}`,
      );
    this.connection.send(openFeedRequest, respond, ({ message }) => this.news.push(message));
  }
  read(): void {
    const respond = () => void this.news.push("page");
    this.connection.send(readRequest, respond, ({ message }) => this.news.push(message));
  }
}

async function change(): Promise<void> {
  engineChanged?.();
  await sleep(1);
}

describe("a client that listens", () => {
  test("is woken only by changes that concern it", async () => {
    const [one, two] = [new Client(), new Client()];
    await change();
    assert.deepEqual([one.news, two.news], [[], []]);
    taken = (client) => (client === 2 ? someChange : nothingChanged);
    await change();
    assert.deepEqual([one.news, two.news], [[], ["changes", "end"]]);
  });

  test("gets the changes of many writes at once, but not of too many", async () => {
    const client = new Client();
    await change();
    taken = () => someChange;
    for (let write = 0; write < 40; ++write) {
      for (const take of takes.splice(0)) take();
      engineChanged?.();
    }
    await sleep(1);
    assert.deepEqual(client.news, ["changes", "changes", "changes", "end"]);
  });

  test("gets changes before the next write if they take much memory", async () => {
    const client = new Client();
    await change();
    taken = () => someChange;
    engineChanged?.();
    assert.equal(takes.length, 0);
    engineChanged?.(true);
    for (const take of takes.splice(0)) take();
    assert.deepEqual(client.news, ["changes"]);
  });

  test("is reset if memory runs out, and then gets changes again", async () => {
    const [one, two] = [new Client(), new Client()];
    await change();
    taken = (client) => {
      if (closed.length === 0 && client === 2) throw outOfMemory;
      return someChange;
    };
    await change();
    assert.deepEqual(closed, [1, 2]);
    const news = ["reset", "changes", "end"];
    await change();
    assert.deepEqual([one.news.slice(-3), two.news], [news, news]);
    one.read();
    assert.equal(one.news.at(-1), "page");
  });

  test("gets no response to what it requested before a reset", async () => {
    const client = new Client();
    await change();
    read = () => new PartsNeeded([1]);
    client.read();
    taken = () => {
      if (closed.length === 0) throw outOfMemory;
      return nothingChanged;
    };
    await change();
    read = () => page;
    load();
    await sleep(1);
    assert.deepEqual(client.news, ["reset"]);
    client.read();
    assert.deepEqual(client.news, ["reset", "page"]);
  });

  test("gets its feed when the group that was staged is published, after its changes", async () => {
    const [one, two] = [new Client(), new Client()];
    await change();
    isStaged = true;
    one.openFeed();
    two.openFeed();
    await change(); // the group is still staged
    assert.deepEqual([one.news, two.news], [[], []]);
    two.connection.close();
    isStaged = false;
    taken = () => someChange;
    await change();
    assert.deepEqual([one.news, two.news], [["changes", "feed 7", "end"], []]);
    await change();
    assert.deepEqual(one.news, ["changes", "feed 7", "end", "changes", "end"]);
  });

  test("gets no feed that it requested before a reset", async () => {
    const client = new Client();
    await change();
    isStaged = true;
    client.openFeed();
    taken = () => {
      if (closed.length === 0) throw outOfMemory;
      return nothingChanged;
    };
    await change();
    isStaged = false;
    await change();
    assert.deepEqual(client.news, ["reset"]);
    client.openFeed();
    assert.deepEqual(client.news, ["reset", "feed 7"]);
  });

  test("gets an error for a feed if the group that is staged will never be stored", async () => {
    const client = new Client();
    await change();
    isStaged = true;
    client.openFeed();
    storingError = new Error("broken");
    listeners.openFeeds();
    client.openFeed();
    assert.deepEqual(client.news, ["broken", "broken"]);
  });

  test("gets the error that the host reports if loading fails", async () => {
    const client = new Client();
    read = () => new PartsNeeded([]);
    client.read();
    load(new Error("not found"));
    await sleep(1);
    assert.deepEqual(client.news, ["reported: not found"]);
  });

  test("has no watches and feeds in the engine as soon as it closes, even if it is the last one", () => {
    const [one, two] = [new Client(), new Client()];
    one.connection.close();
    assert.deepEqual(closed, [1]);
    two.connection.close();
    assert.deepEqual(closed, [1, 2]);
    two.connection.close();
    assert.deepEqual(closed, [1, 2]);
    engineChanged?.(); // nothing is taken any more
    assert.deepEqual(takes, []);
  });

  test("is closed if the engine breaks", async () => {
    const client = new Client();
    await change();
    taken = () => {
      throw new Error("trap");
    };
    await change();
    assert.deepEqual(client.news, ["closed: trap"]);
  });
});
