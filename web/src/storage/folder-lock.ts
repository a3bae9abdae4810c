// Allows one process per folder. The process that has the log open keeps a file "lock" there that
// identifies it. A lock whose process has died is taken over, so a crash never leaves a store
// locked. On Linux the identity includes the start time of the process, because process ids are
// reused, especially in containers.
//
// The lock works among processes that see each other. Owners on two machines, or in two containers
// over one folder, are fenced by the log itself: a segment's number can be used only once
// (log-storage.ts, "fenced").

import { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike } from "../types.ts";
import { type NodeFs, type NodeProcess, nodeModule, systemErrorCode } from "../util/node.ts";

const pollMs = 50;

export interface FolderLock {
  release(): void; // may be called again
}

export interface FolderLockOptions {
  process: NodeProcess;
  waitMs: number; // the process before may still be closing
  signal?: AbortSignalLike | undefined;
}

// Rejects with StoreLocked if another process still has the lock after `waitMs`, and with
// AbortError if `signal` aborts. REQUIRES: the folder exists.
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<FolderLock> {
  const fs = await nodeModule("node:fs");
  const lock = `${folder}/lock`;
  const { process, signal } = options;
  const me = `${process.pid} ${processStartTime(fs, process.pid) || "-"} ${crypto.randomUUID()}\n`;
  for (const end = Date.now() + options.waitMs; ; await sleep(pollMs)) {
    if (signal?.aborted) throw new AbortError();
    const holder = tryLock(fs, lock, me);
    if (holder === me) return { release: () => release(fs, lock, me) };
    if (holder === undefined) continue; // it just went
    if (!isAlive(fs, process, holder)) removeStaleLock(fs, lock, holder);
    else if (Date.now() >= end) throw storeLockedError(folder, holder);
  }
}

// Who holds the lock now; `me` if it was free.
function tryLock(fs: NodeFs, lock: string, me: string): string | undefined {
  const mine = temporary(lock);
  fs.writeFileSync(mine, me, { flag: "wx" });
  try {
    try {
      fs.linkSync(mine, lock); // whole at once, and only if there is none
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST") throw error;
      fs.writeFileSync(lock, me, { flag: "wx" }); // no links here
    }
    return me;
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
    return read(fs, lock);
  } finally {
    fs.unlinkSync(mine);
  }
}

function read(fs: NodeFs, path: string): string | undefined {
  try {
    return fs.readFileSync(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

// Two may find the same dead holder: only what is still its lock may go, and another's is put back.
function removeStaleLock(fs: NodeFs, lock: string, holder: string): void {
  const aside = temporary(lock);
  try {
    fs.renameSync(lock, aside);
    if (read(fs, aside) !== holder) fs.linkSync(aside, lock);
    fs.unlinkSync(aside);
  } catch (error) {
    if (!["ENOENT", "EEXIST"].includes(systemErrorCode(error))) throw error;
  }
}

function release(fs: NodeFs, lock: string, me: string): void {
  try {
    if (read(fs, lock) === me) fs.unlinkSync(lock);
  } catch {
    // It is taken over when this process has ended.
  }
}

function isAlive(fs: NodeFs, process: NodeProcess, holder: string): boolean {
  const [, pidText, began] = /^(\d+) (\S+) /.exec(holder) ?? [];
  const pid = Number(pidText);
  if (!(pid > 0)) return false; // cut off: the power went while it was written
  const begins = processStartTime(fs, pid);
  if (began !== "-" && begins !== undefined) return began === begins;
  try {
    process.kill(pid, 0); // sends nothing
    return true;
  } catch (error) {
    return systemErrorCode(error) !== "ESRCH";
  }
}

// When a process began, as text that no other process of that number has; "" if there is no such
// process, undefined where that can't be known.
function processStartTime(fs: NodeFs, pid: number): string | undefined {
  let boot: string;
  try {
    boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name may hold anything
    return `${boot}/${fields[19]}`;
  } catch {
    return "";
  }
}

function temporary(lock: string): string {
  return lock.replace(/lock$/, `tmp-${crypto.randomUUID()}`);
}

function storeLockedError(folder: string, holder: string): StoreError {
  const pid = holder.split(" ", 1)[0];
  return new StoreError("StoreLocked", `The folder ${folder} is open in process ${pid}.`, {
    hint: "Close it there, or open another folder here.",
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
