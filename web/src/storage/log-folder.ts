// What is done to the folder of a log as a whole, and what its files may be called.

import { type NodeFile, type NodeFs, nodeModule, systemErrorCode } from "../util/node.ts";
import { manifestName, numberFromName, StorageError } from "./log-storage.ts";

export const temporaryPrefix = "tmp-";
export const relaxedPattern = /^relaxed-([0-9a-f]{16})-([0-9a-f]{32})$/;

// Makes a folder and those above it, so that a loss of power does not take them back. It may be
// there already.
export async function makeFolder(folder: string, fs: NodeFs["promises"]): Promise<void> {
  const { dirname } = await nodeModule("node:path");
  const first = await fs.mkdir(folder, { recursive: true }); // the topmost one that was made
  if (typeof first !== "string") return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    await flushFolder(dirname(made), fs);
  }
}

// Deletes the log in a folder, and the folder if nothing else is in it. In one step for whoever
// looks at its name.
export async function deleteFolder(folder: string, fs: NodeFs["promises"]): Promise<void> {
  const { dirname, join } = await nodeModule("node:path");
  const above = dirname(folder);
  const marked = folder + deletedMark;
  await ignoringError("ENOENT", fs.rename(folder, marked + crypto.randomUUID()));
  await ignoringError("ENOENT", flushFolder(above, fs));
  for (const name of (await ignoringError("ENOENT", fs.readdir(above))) ?? []) {
    const aside = join(above, name);
    if (!aside.startsWith(marked)) continue; // this one, and any that was left half-way
    for (const file of await fs.readdir(aside)) {
      if (isOurs(file)) await ignoringError("ENOENT", fs.unlink(`${aside}/${file}`));
    }
    await ignoringError("ENOTEMPTY", fs.rmdir(aside));
  }
}

async function ignoringError<T>(code: string, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (systemErrorCode(error) !== code) throw storageErrorFrom(error);
    return undefined;
  }
}

// In the name of a folder that is being deleted; no store's name has it.
const deletedMark = "~deleted-";

function isOurs(name: string): boolean {
  const passing = name === "lock" || name.startsWith(temporaryPrefix) || relaxedPattern.test(name);
  return passing || isLogFileName(name);
}

// Whether a file of that name is part of a log.
export function isLogFileName(name: string): boolean {
  return (
    name === manifestName ||
    numberFromName("wal-", name) !== undefined ||
    numberFromName("part-", name) !== undefined
  );
}

// So that names which were given, changed or taken away stay so.
export async function flushFolder(folder: string, fs: NodeFs["promises"]): Promise<void> {
  let opened: NodeFile;
  try {
    opened = await fs.open(folder, "r");
  } catch (error) {
    // Windows opens no folders, and needs no flush of them.
    if (["EISDIR", "EPERM", "EACCES"].includes(systemErrorCode(error))) return;
    throw error;
  }
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

// What the system says, in the words of the contract.
export function storageErrorFrom(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const full = ["ENOSPC", "EDQUOT", "EFBIG"].includes(systemErrorCode(error));
  if (full) return new StorageError("quota", "There is no room left on the disk.", error);
  return new StorageError("aborted", `The file system failed: ${String(error)}`, error);
}
