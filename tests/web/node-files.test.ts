// Tests the log in a folder of files: the storage contract, what remains after a crash or a power
// failure, failing disks, and the lock that excludes a second process.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import * as crypto from "node:crypto";
import * as fs from "node:fs";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { after, before, describe, test } from "node:test";
import * as util from "node:util";
import {
  deleteFileStore,
  listFileStores,
  openFileStore,
} from "../../web/src/storage/file-stores.ts";
import { lockFolder } from "../../web/src/storage/folder-lock.ts";
import { deleteLogFolder, makeFolder } from "../../web/src/storage/log-folder.ts";
import type { LogStorage } from "../../web/src/storage/log-storage.ts";
import { NodeFilesStorage } from "../../web/src/storage/node-files.ts";
import type {
  NodeCrypto,
  NodeFs,
  NodePath,
  NodeProcess,
  NodeUtil,
} from "../../web/src/util/node.ts";
import { loadAll, storageContract } from "./support/storage-contract.ts";

// The compiler checks the package's declarations against Node's own types.
const promises: NodeFs["promises"] = (fs satisfies NodeFs).promises;
path satisfies NodePath;
crypto satisfies NodeCrypto;
process satisfies NodeProcess;
util satisfies NodeUtil;

let root: string;
let folders = 0;
before(async () => {
  root = await mkdtemp(path.join(tmpdir(), "entitable-"));
});
after(() => rm(root, { recursive: true }));

async function newFolder(): Promise<string> {
  const folder = path.join(root, String(++folders), "store");
  await makeFolder(folder, promises);
  return folder;
}

const bytes = (...values: number[]) => Uint8Array.from(values);

// Records the calls of file system functions in order, as "function file". `fail` may throw instead
// of a call.
function watched(fail: (call: string) => void = () => {}) {
  const calls: string[] = [];
  const short = (file: unknown) =>
    String(file)
      .replace(/^.*\//, "")
      .replace(/^(tmp|relaxed)-.*/, "$1");
  const note = (method: string, ...files: unknown[]) => {
    const call = [method, ...files.map(short)].join(" ");
    calls.push(call);
    fail(call);
  };
  const wrap = (method: "rename" | "link" | "unlink") => {
    const real = promises[method] as (...files: string[]) => Promise<void>;
    return async (...files: string[]) => {
      note(method, ...files);
      return real(...files);
    };
  };
  const system: NodeFs["promises"] = {
    ...promises,
    rename: wrap("rename"),
    link: wrap("link"),
    unlink: wrap("unlink"),
    async readFile(file) {
      note("readFile", file);
      return promises.readFile(file);
    },
    async open(file, flags) {
      note("open", file);
      const opened = await promises.open(file, flags);
      const flush = async () => note("flush", file);
      return {
        read: (into, offset, length) => opened.read(into, offset, length),
        stat: () => opened.stat(),
        write: async (from, offset, length) => {
          note("write", file);
          return opened.write(from, offset, length);
        },
        sync: flush,
        datasync: flush,
        close: () => opened.close(),
      };
    },
  };
  return { calls, system };
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

// Returns the names of manifests.
function generations(...numbers: number[]): string[] {
  return numbers.map((number) => `manifest-000000000000000${number}`);
}

// The cases for storages that accept a single segment per call.
const contract = storageContract.filter(({ several }) => !several);

test("several segments in one call are rejected, and nothing is stored", async () => {
  const storage: LogStorage = await NodeFilesStorage.open(await newFolder());
  assert.equal(storage.segmentBytes, undefined);
  const two = [new Uint8Array(1), new Uint8Array(1)];
  assert.throws(() => storage.addSegments(1, two, "strict"), /one at a time/);
  assert.deepEqual((await loadAll(storage)).segments, []);
  await storage.close();
});

describe("files keep the storage contract", () => {
  for (const { name, run } of contract) {
    test(name, async () => {
      const folder = await newFolder();
      await run({
        async open() {
          await makeFolder(folder, promises); // drop() removed the folder
          return NodeFilesStorage.open(folder);
        },
      });
    });
  }
});

describe("a file system without links keeps the storage contract", () => {
  for (const { name, run } of contract) {
    // Without hard links and without a lock, nothing fences a stale owner.
    if (name === "one of two owners is fenced") continue;
    test(name, async () => {
      const folder = await newFolder();
      const { system } = watched((call) => {
        if (call.startsWith("link")) throw failure("EPERM");
      });
      await run({
        async open() {
          await makeFolder(folder, promises);
          return NodeFilesStorage.open(folder, system);
        },
      });
    });
  }
});

describe("files", () => {
  test("have the log's names, and the given bytes", async () => {
    const folder = await newFolder();
    const storage = await NodeFilesStorage.open(folder);
    await storage.addSegments(26, [bytes(1)], "strict");
    await storage.putPart(27, bytes(2, 2));
    await storage.commitManifest(bytes(3), { segmentsBelow: 0, obsoleteParts: [] });
    await storage.close();
    const part = "part-000000000000001b-0000000000000001";
    const names = [...generations(1, 2), part, "wal-000000000000001a"];
    assert.deepEqual((await readdir(folder)).sort(), names);
    assert.deepEqual([...(await readFile(`${folder}/${part}`))], [2, 2]);
    assert.deepEqual([...(await readFile(`${folder}/${generations(2)}`))], [3]);
  });

  test("strict: flushed under a temporary name, renamed, and the name flushed", async () => {
    const folder = await newFolder();
    const { calls, system } = watched();
    const storage = await NodeFilesStorage.open(folder, system);
    await storage.claim(1, bytes(1));
    await storage.addSegments(2, [bytes(2)], "strict");
    calls.length = 0;
    await storage.addSegments(3, [bytes(3)], "strict");
    const wal = "wal-0000000000000003";
    const write = ["open tmp", "write tmp", "flush tmp"];
    const name = [`link tmp ${wal}`, "unlink tmp", "open store", "flush store"];
    assert.deepEqual(calls, [...write, ...name]);
  });

  test("relaxed: flushed only before the next strict segment's name", async () => {
    const folder = await newFolder();
    const { calls, system } = watched();
    const storage = await NodeFilesStorage.open(folder, system);
    await storage.addSegments(1, [bytes(1)], "relaxed");
    const flushes = calls.filter((call) => call.startsWith("flush"));
    assert.deepEqual(flushes, ["flush tmp"], "of the manifest's generation");
    assert.equal((await readdir(folder)).length, 3);
    calls.length = 0;
    await storage.addSegments(2, [bytes(2)], "strict");
    const flushed = calls.indexOf("flush wal-0000000000000001");
    assert(flushed >= 0 && flushed < calls.indexOf("link tmp wal-0000000000000002"));
    assert.deepEqual((await readdir(folder)).sort(), [
      ...generations(1),
      "wal-0000000000000001",
      "wal-0000000000000002",
    ]);
    await storage.close();
  });

  test("closing flushes relaxed segments", async () => {
    const folder = await newFolder();
    const { calls, system } = watched();
    const storage = await NodeFilesStorage.open(folder, system);
    await storage.addSegments(1, [bytes(1)], "relaxed");
    await storage.close();
    assert(calls.includes("flush wal-0000000000000001"));
    assert.deepEqual((await readdir(folder)).sort(), [...generations(1), "wal-0000000000000001"]);
  });

  test("a manifest is written after its parts, and old files are removed last", async () => {
    const folder = await newFolder();
    const { calls, system } = watched();
    const storage = await NodeFilesStorage.open(folder, system);
    await storage.addSegments(1, [bytes(1)], "strict");
    await storage.putPart(1, bytes(1));
    calls.length = 0;
    await storage.commitManifest(bytes(3), { segmentsBelow: 2, obsoleteParts: [1] });
    assert.deepEqual(calls, [
      ...["open store", "flush store", "open tmp", "write tmp", "flush tmp"],
      ...[`link tmp ${generations(2)}`, "unlink tmp", "open store", "flush store"],
      ...["unlink wal-0000000000000001", "unlink part-0000000000000001-0000000000000001"],
    ]);
    calls.length = 0;
    await storage.commitManifest(bytes(4), { segmentsBelow: 2, obsoleteParts: [] });
    assert.equal(calls.at(-1), `unlink ${generations(1)}`, "the last one is kept");
  });

  test("a manifest whose parts repeat the log is written after a flush of the log", async () => {
    const folder = await newFolder();
    const { calls, system } = watched();
    const storage = await NodeFilesStorage.open(folder, system);
    await storage.addSegments(1, [bytes(1)], "relaxed");
    await storage.addSegments(2, [bytes(2)], "relaxed");
    calls.length = 0;
    const interim = { segmentsBelow: 0, obsoleteParts: [], flushesSegments: true };
    await storage.commitManifest(bytes(3), interim);
    const committed = calls.indexOf(`link tmp ${generations(2)}`);
    for (const wal of ["wal-0000000000000001", "wal-0000000000000002"]) {
      const flushed = calls.indexOf(`flush ${wal}`);
      assert(flushed >= 0 && flushed < committed, calls.join("\n"));
    }
    assert.deepEqual((await readdir(folder)).sort(), [
      ...generations(1, 2),
      "wal-0000000000000001",
      "wal-0000000000000002",
    ]);
    await storage.close();
  });

  test("other files of the folder, and folders with a file's name, are ignored", async () => {
    const folder = await newFolder();
    const storage = await NodeFilesStorage.open(folder);
    await storage.addSegments(1, [bytes(1)], "strict");
    for (const name of ["wal-0000000000000002", "part-0000000000000001", "notes"]) {
      await makeFolder(`${folder}/${name}`, promises);
    }
    await writeFile(`${folder}/wal-000000000000001x`, "x");
    const loaded = await loadAll(storage, [1]);
    assert.deepEqual(loaded.segments, [
      [1, [1]],
      [2, undefined],
    ]);
    assert.deepEqual(loaded.parts, { 1: undefined });
    for (const name of ["manifest", ...generations(2)]) {
      await rm(`${folder}/${generations(1)}`, { force: true });
      await makeFolder(`${folder}/${name}`, promises);
      assert.deepEqual((await loadAll(storage)).manifest, [], "damage, not a new store");
    }
    await storage.close();
  });

  test("many parts are read in the requested order", async () => {
    const storage = await NodeFilesStorage.open(await newFolder());
    const ids = Array.from({ length: 50 }, (_, i) => i + 1);
    for (const id of ids) await storage.putPart(id, bytes(id));
    const { parts } = await loadAll(storage, ids.reverse());
    assert.deepEqual(parts, Object.fromEntries(ids.map((id) => [id, [id]])));
    await storage.close();
  });

  test("parts of any size are read by several calls at once, even after calls that failed", async () => {
    const storage = await NodeFilesStorage.open(await newFolder());
    const ids = Array.from({ length: 40 }, (_, i) => i + 1);
    const sizeOf = (id: number) => (id % 3 === 0 ? 200_000 - id : id);
    for (const id of ids) await storage.putPart(id, new Uint8Array(sizeOf(id)).fill(id));
    await loadAll(storage, ids);
    const read = async (wanted: readonly number[]) => {
      const seen: number[] = [];
      await storage.readParts(wanted, (id, part) => {
        assert.deepEqual(part, new Uint8Array(sizeOf(id)).fill(id));
        seen.push(id);
      });
      assert.deepEqual(seen, wanted);
    };
    const fail = async () => {
      const seen: number[] = [];
      const reading = storage.readParts(ids, (id) => {
        seen.push(id);
        if (id === 5) throw new Error("no memory");
      });
      await assert.rejects(reading, { message: "no memory" });
      assert.deepEqual(seen, [1, 2, 3, 4, 5]);
    };
    const backwards = ids.toReversed();
    await Promise.all([read(ids), fail(), read(backwards), fail(), ...ids.map((id) => read([id]))]);
    await read(ids);
    await storage.close();
  });
});

describe("what a crash leaves in the folder", () => {
  test("is removed when the log is claimed, and nothing else is", async () => {
    const folder = await newFolder();
    const storage = await NodeFilesStorage.open(folder);
    for (let i = 1; i <= 3; ++i) await storage.addSegments(i, [bytes(i)], "strict");
    await storage.close();
    const hash = "0".repeat(32);
    const left = ["tmp-1", `relaxed-0000000000000009-${hash}`];
    for (const name of [...left, "notes.txt"]) await writeFile(`${folder}/${name}`, "half");
    const again = await NodeFilesStorage.open(folder);
    assert.deepEqual((await loadAll(again, [], 2)).segments, [
      [2, [2]],
      [3, [3]],
    ]);
    assert.equal((await readdir(folder)).length, 7, "loading changes nothing");
    await again.claim(4, bytes(4));
    const kept = [2, 3, 4].map((n) => `wal-000000000000000${n}`);
    const names = (await readdir(folder)).filter((name) => !/^relaxed-.*4-/.test(name));
    assert.deepEqual(names.sort(), [...generations(1, 2), "notes.txt", ...kept]);
    await again.close();
  });

  test("a claim keeps its mark if an equal claim was left over", async () => {
    const folder = await newFolder();
    const { system } = watched((call) => {
      if (call.startsWith("link") || call === "unlink relaxed") throw failure("EIO");
    });
    const first = await NodeFilesStorage.open(folder, system);
    await loadAll(first);
    await assert.rejects(first.claim(1, bytes(1)), { failure: "aborted" });
    const second = await NodeFilesStorage.open(folder, promises);
    await loadAll(second);
    await second.claim(1, bytes(1));
    const names = await readdir(folder);
    assert.equal(names.filter((name) => name.startsWith("relaxed-")).length, 1);
  });

  test("relaxed segments survive the end of the process", async () => {
    const folder = await newFolder();
    const died = await NodeFilesStorage.open(folder); // never closed
    await died.addSegments(1, [bytes(1)], "strict");
    await died.addSegments(2, [bytes(2)], "relaxed");
    const again = await NodeFilesStorage.open(folder);
    const both = [
      [1, [1]],
      [2, [2]],
    ];
    assert.deepEqual((await loadAll(again)).segments, both);
    await again.close();
    const flushed = [...generations(1), "wal-0000000000000001", "wal-0000000000000002"];
    assert.deepEqual((await readdir(folder)).sort(), flushed);
  });

  test("a power failure loses relaxed segments from the first torn one on", async () => {
    const folder = await newFolder();
    const died = await NodeFilesStorage.open(folder);
    await died.addSegments(1, [bytes(1, 1)], "strict");
    for (let i = 2; i <= 4; ++i) await died.addSegments(i, [bytes(i, i)], "relaxed");
    // also truncates the second link, as a power failure would
    await truncate(`${folder}/wal-0000000000000003`, 0);
    const again = await NodeFilesStorage.open(folder);
    const prefix = [
      [1, [1, 1]],
      [2, [2, 2]],
    ];
    assert.deepEqual((await loadAll(again)).segments, prefix);
    await again.addSegments(3, [bytes(7)], "strict"); // the number can be used again
    await again.close();
    const segments = (await readdir(folder)).filter((name) => !name.startsWith("manifest"));
    assert.equal(segments.length, 3);
  });

  test("a torn segment before a strict one is damage, and stays as it is", async () => {
    const folder = await newFolder();
    const died = await NodeFilesStorage.open(folder);
    await died.addSegments(1, [bytes(1, 1)], "relaxed");
    await truncate(`${folder}/wal-0000000000000001`, 1);
    await writeFile(`${folder}/wal-0000000000000002`, bytes(2));
    const again = await NodeFilesStorage.open(folder);
    const all = [
      [1, [1]],
      [2, [2]],
    ];
    assert.deepEqual((await loadAll(again)).segments, all);
    await again.close();
  });

  test("is removed after a crash between a checkpoint and removing obsolete files", async () => {
    const folder = await newFolder();
    const { system } = watched((call) => {
      if (/^unlink (wal|part)/.test(call)) throw failure("EIO");
    });
    const died = await NodeFilesStorage.open(folder, system);
    await died.addSegments(1, [bytes(1)], "strict");
    await died.putPart(1, bytes(1));
    // The manifest is stored, but deleting the obsolete files fails.
    await died.commitManifest(bytes(3), { segmentsBelow: 2, obsoleteParts: [1] });
    const again = await NodeFilesStorage.open(folder);
    const loaded = await loadAll(again, [], 2);
    assert.deepEqual(loaded, { manifest: [3], parts: {}, segments: [], orphans: [1] });
    await again.claim(2, bytes(2));
    await again.close();
    const part = "part-0000000000000001-0000000000000001";
    const names = [...generations(1, 2, 3), part, "wal-0000000000000002"];
    assert.deepEqual((await readdir(folder)).sort(), names);
    await again.close();
  });

  test("a store whose process died while deleting it is deleted", async () => {
    const folder = await newFolder();
    const storage = await NodeFilesStorage.open(folder);
    await storage.addSegments(1, [bytes(1)], "strict");
    await storage.close();
    const { system } = watched((call) => {
      if (call.startsWith("unlink wal")) throw failure("EIO");
    });
    await assert.rejects(deleteLogFolder(folder, system), { code: "ConnectionLost" });
    assert.deepEqual(await listFileStores(path.dirname(folder)), []);
    await deleteLogFolder(folder, promises); // a second call deletes what remains
    assert.deepEqual(await readdir(path.dirname(folder)), []);
  });

  test("deleting a store keeps other files", async () => {
    const folder = await newFolder();
    await writeFile(`${folder}/notes.txt`, "mine");
    await deleteLogFolder(folder, promises);
    const [aside] = await readdir(path.dirname(folder));
    assert.deepEqual(await readdir(path.join(path.dirname(folder), String(aside))), ["notes.txt"]);
  });
});

describe("a disk that fails", () => {
  const cases: [when: RegExp, code: string, expected: { failure: string; code: string }][] = [
    [/^write tmp/, "ENOSPC", { failure: "quota", code: "QuotaExceeded" }],
    [/^open tmp/, "EDQUOT", { failure: "quota", code: "QuotaExceeded" }],
    [/^flush tmp/, "EIO", { failure: "aborted", code: "ConnectionLost" }],
    [/^link/, "ENOSPC", { failure: "quota", code: "QuotaExceeded" }],
  ];
  for (const durability of ["strict", "relaxed"] as const) {
    for (const [when, code, expected] of cases) {
      if (durability === "relaxed" && when.source.includes("flush")) continue;
      test(`${durability}: ${code} at ${when.source}: nothing is stored, and the next call may succeed`, async () => {
        const folder = await newFolder();
        let failing = true;
        const { system } = watched((call) => {
          if (failing && when.test(call)) throw failure(code);
        });
        const storage = await NodeFilesStorage.open(folder, system);
        await assert.rejects(storage.addSegments(1, [bytes(1)], durability), expected);
        assert.deepEqual(await readdir(folder), []);
        failing = false;
        await storage.addSegments(1, [bytes(1)], durability);
        assert.deepEqual((await loadAll(storage)).segments, [[1, [1]]]);
        await storage.close();
      });
    }
  }

  test("strict segments are not stored after one that cannot be flushed", async () => {
    const folder = await newFolder();
    let failing = true;
    const { system } = watched((call) => {
      if (failing && call.startsWith("flush wal")) throw failure("EIO");
    });
    const storage = await NodeFilesStorage.open(folder, system);
    await storage.addSegments(1, [bytes(1)], "relaxed");
    await assert.rejects(storage.addSegments(2, [bytes(2)], "strict"), { failure: "aborted" });
    assert.equal((await loadAll(storage)).segments.length, 1);
    failing = false;
    await storage.addSegments(2, [bytes(2)], "strict");
    await storage.close();
  });

  test("if names cannot be flushed, the outcome is unknown until the call is repeated", async () => {
    const folder = await newFolder();
    let failing = true;
    const { system } = watched((call) => {
      if (failing && call === "flush store") throw failure("EIO");
    });
    const storage = await NodeFilesStorage.open(folder, system);
    const calls = [
      () => storage.addSegments(1, [bytes(1)], "strict"),
      () => storage.addSegments(1, [bytes(1)], "strict"),
    ];
    for (const call of calls) await assert.rejects(call(), { failure: "unknown", isFatal: false });
    failing = false;
    await storage.addSegments(1, [bytes(1)], "strict");
    assert.deepEqual((await loadAll(storage)).segments, [[1, [1]]]);
    await storage.close();
  });

  test("an unreadable file is damage; a folder without permission is an error", async () => {
    const folder = await newFolder();
    let code = "EIO";
    const { system } = watched((call) => {
      if (call.startsWith("readFile wal")) throw failure(code);
    });
    const storage = await NodeFilesStorage.open(folder, system);
    await storage.addSegments(1, [bytes(1)], "strict");
    assert.deepEqual((await loadAll(storage)).segments, [[1, undefined]]);
    code = "EACCES";
    await assert.rejects(loadAll(storage), { failure: "aborted" });
    await storage.close();
  });

  test("a folder that is deleted while the store is open is not created again", async () => {
    const folder = await newFolder();
    const storage = await NodeFilesStorage.open(folder);
    await storage.addSegments(1, [bytes(1)], "strict");
    await rm(folder, { recursive: true });
    const gone = { failure: "gone", isFatal: true };
    await assert.rejects(storage.addSegments(2, [bytes(2)], "strict"), gone);
    await assert.rejects(storage.putPart(2, bytes(2)), gone);
    assert(!fs.existsSync(folder));
    await storage.close();
  });
});

describe("the lock of a folder", () => {
  const options = { process, waitMs: 0 };

  test("excludes a second holder, even in this process, until it is released", async () => {
    const folder = await newFolder();
    const lock = await lockFolder(folder, options);
    await assert.rejects(lockFolder(folder, options), {
      code: "StoreLocked",
      message: `The folder ${folder} is open in this process.`,
    });
    lock.release();
    const next = await lockFolder(folder, options);
    lock.release(); // a second call; another process has the lock now
    await assert.rejects(lockFolder(folder, options), { code: "StoreLocked" });
    next.release();
    assert.deepEqual(await readdir(folder), []);
  });

  test("is waited for, unless the wait is aborted", async () => {
    const folder = await newFolder();
    const lock = await lockFolder(folder, options);
    const waiting = lockFolder(folder, { process, waitMs: 60_000 });
    const abort = new AbortController();
    const aborted = lockFolder(folder, { process, waitMs: 60_000, signal: abort.signal });
    abort.abort();
    await assert.rejects(aborted, { name: "AbortError" });
    lock.release();
    (await waiting).release();
  });

  test("of a dead process is taken over, by one of many", async () => {
    const { stdout } = await util.promisify(execFile)(process.execPath, ["-p", "process.pid"]);
    const dead = Number(stdout);
    const own = { "a number of another process": `${dead} - x\n`, "cut off": "", nonsense: "\0\0" };
    for (const [what, holder] of Object.entries(own)) {
      const folder = await newFolder();
      await writeFile(`${folder}/lock`, holder);
      const all = await Promise.allSettled(
        Array.from({ length: 10 }, () => lockFolder(folder, options)),
      );
      const got = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      assert.equal(got.length, 1, what);
      got[0]?.release();
      assert.deepEqual(await readdir(folder), []);
    }
  });

  test("of a process whose id was reused is taken over", async (t) => {
    if (process.platform !== "linux") return t.skip("when a process began is known on Linux");
    const folder = await newFolder();
    await writeFile(`${folder}/lock`, `${process.pid} boot/1 x\n`);
    (await lockFolder(folder, options)).release();
  });

  test("of a living process holds, even if its start time is not known", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    try {
      const folder = await newFolder();
      await writeFile(`${folder}/lock`, `${child.pid} - x\n`);
      await assert.rejects(lockFolder(folder, options), { code: "StoreLocked" });
    } finally {
      child.kill("SIGKILL");
    }
  });
});

describe("stores in folders", () => {
  const waitMs = 0;

  test("are created, listed and deleted by name", async () => {
    const where = path.join(root, "by/name");
    assert.deepEqual(await listFileStores(where), []);
    for (const name of ["two", "one"]) {
      const { storage, lock } = await openFileStore({ path: where, name, waitMs });
      if (name === "two") await storage.addSegments(1, [bytes(1)], "strict");
      await storage.close();
      lock.release();
    }
    await makeFolder(path.join(where, "other/things"), promises);
    await writeFile(path.join(where, "file"), "");
    assert.deepEqual(await listFileStores(where), ["one", "two"]);
    await deleteFileStore({ path: where, name: "two", waitMs });
    await deleteFileStore({ path: where, name: "two", waitMs }); // may be called again
    assert.deepEqual(await listFileStores(where), ["one"]);
  });

  test("are not deleted while they are open", async () => {
    const where = path.join(root, "open");
    const { storage, lock } = await openFileStore({ path: where, name: "s", waitMs });
    await assert.rejects(deleteFileStore({ path: where, name: "s", waitMs }), {
      code: "StoreLocked",
    });
    await storage.close();
    lock.release();
    await deleteFileStore({ path: where, name: "s", waitMs });
  });

  test("a path that cannot be used is an error", async () => {
    const file = path.join(root, "a-file");
    await writeFile(file, "");
    const unusable = { code: "PersistenceUnavailable" };
    await assert.rejects(openFileStore({ path: file, name: "s", waitMs }), unusable);
    await assert.rejects(listFileStores(file), unusable);
  });
});
