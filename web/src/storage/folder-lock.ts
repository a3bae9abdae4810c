// Locks a folder for one process. The process that opened the log keeps a file "lock" in the
// folder, whose content identifies the process. If that process has died, another process takes
// over the lock, so a crash does not leave a store locked. Process ids are reused, especially in
// containers; on Linux the file therefore also has the time when the process started.
//
// The lock only works among processes that see each other's ids. Two machines, or two containers,
// that use the same folder are both able to open it. The log then rejects the writes of the earlier
// owner, because a segment number can be used only once (log-storage.ts, "fenced").

import { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike } from "../types.ts";
import { type NodeFs, type NodeProcess, nodeModule, systemErrorCode } from "../util/node.ts";

const pollMs = 50;

export interface FolderLock {
  release(): void; // may be called again
}

export interface FolderLockOptions {
  process: NodeProcess;
  waitMs: number; // how long to wait for another process to release the lock
  signal?: AbortSignalLike | undefined;
}

// Locks a folder. Rejects with StoreLocked if another process still has the lock after `waitMs`,
// and with AbortError if `signal` aborts. Writes nothing while a process that is alive has the
// lock. REQUIRES: the folder exists.
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<FolderLock> {
  const fs = await nodeModule("node:fs");
  const lock = `${folder}/lock`;
  const { process, signal } = options;
  const me = `${process.pid} ${processStartTime(fs, process.pid) || "-"} ${crypto.randomUUID()}\n`;
  for (const end = Date.now() + options.waitMs; ; await sleep(pollMs)) {
    if (signal?.aborted) throw new AbortError();
    const holder = read(fs, lock) ?? tryLock(fs, lock, me);
    if (holder === me) return { release: () => release(fs, lock, me) };
    if (holder === undefined) continue; // the lock was just released
    if (!isAlive(fs, process, holder)) removeStaleLock(fs, lock, holder);
    else if (Date.now() >= end) throw storeLockedError(folder, holder, process.pid);
  }
}

// Creates the lock file if it does not exist. Returns the content of the file: `me` if this call
// created it. Returns undefined if the file was deleted in the meantime.
function tryLock(fs: NodeFs, lock: string, me: string): string | undefined {
  const mine = temporary(lock);
  writeOrRemove(fs, mine, me);
  try {
    try {
      fs.linkSync(mine, lock); // atomic, and fails if the file exists
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST") throw error;
      fs.writeFileSync(lock, me, { flag: "wx" }); // for a file system without hard links
    }
    return me;
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
    return read(fs, lock);
  } finally {
    fs.unlinkSync(mine);
  }
}

// Writes a new file. On failure, removes what was written of it.
function writeOrRemove(fs: NodeFs, path: string, text: string): void {
  try {
    fs.writeFileSync(path, text, { flag: "wx" });
  } catch (error) {
    try {
      fs.unlinkSync(path);
    } catch {
      // There is no file.
    }
    throw error;
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

// Removes the lock of a dead process. Two processes may do this at the same time, and one of them
// may already have a new lock. The file is therefore moved aside first, and put back if it is not
// the dead process's.
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
    // Another process will take over the lock after this process has ended.
  }
}

function isAlive(fs: NodeFs, process: NodeProcess, holder: string): boolean {
  const [, pidText, lockedStart] = /^(\d+) (\S+) /.exec(holder) ?? [];
  const pid = Number(pidText);
  if (!(pid > 0)) return false; // the file is incomplete after a power failure
  const currentStart = processStartTime(fs, pid);
  if (lockedStart !== "-" && currentStart !== undefined) return lockedStart === currentStart;
  try {
    process.kill(pid, 0); // only checks that the process exists
    return true;
  } catch (error) {
    return systemErrorCode(error) !== "ESRCH";
  }
}

// Returns a text that identifies a process: two processes with the same id have different texts.
// Returns "" if there is no such process, and undefined if the system does not report start times.
function processStartTime(fs: NodeFs, pid: number): string | undefined {
  let boot: string;
  try {
    boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    // The process's name stands in parentheses and may itself contain ")".
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return `${boot}/${fields[19]}`;
  } catch {
    return "";
  }
}

function temporary(lock: string): string {
  return lock.replace(/lock$/, `tmp-${crypto.randomUUID()}`);
}

function storeLockedError(folder: string, holder: string, ownPid: number): StoreError {
  const pid = holder.split(" ", 1)[0];
  if (Number(pid) === ownPid) {
    return new StoreError("StoreLocked", `The folder ${folder} is open in this process.`, {
      hint: "Wait for close() of the store first.",
    });
  }
  return new StoreError("StoreLocked", `The folder ${folder} is open in process ${pid}.`, {
    hint: "Close it there, or open another folder here.",
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
