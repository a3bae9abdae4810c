// Creates, deletes and flushes the folder of a log, and defines the names of its files (FORMAT.md,
// "Names in a folder of Node").

import { type NodeFile, type NodeFs, nodeModule, systemErrorCode } from "../util/node.ts";
import { manifestName, numberFromName, partName, StorageError } from "./log-storage.ts";

export const temporaryPrefix = "tmp-";
export const reservePattern = /^tmp-reserve-/;
export const relaxedPattern = /^relaxed-([0-9a-f]{16})-([0-9a-f]{32})$/;

// Creates a folder and its parents, and flushes them so that they survive a power failure. The
// folder may exist already.
export async function makeFolder(folder: string, fs: NodeFs["promises"]): Promise<void> {
  const { dirname } = await nodeModule("node:path");
  const first = await fs.mkdir(folder, { recursive: true }); // the topmost new folder
  if (typeof first !== "string") return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    await flushFolder(dirname(made), fs);
  }
}

// Deletes the log's files in a folder, then the folder if it is empty. Renames the folder first, so
// that the store disappears in one step.
export async function deleteLogFolder(folder: string, fs: NodeFs["promises"]): Promise<void> {
  const { dirname, join } = await nodeModule("node:path");
  const above = dirname(folder);
  const marked = folder + deletedMark;
  await ignoringError("ENOENT", fs.rename(folder, marked + crypto.randomUUID()));
  await ignoringError("ENOENT", flushFolder(above, fs));
  for (const name of (await ignoringError("ENOENT", fs.readdir(above))) ?? []) {
    const aside = join(above, name);
    if (!aside.startsWith(marked)) continue; // also finds what an interrupted deletion left
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

// Part of the name of a folder that is being deleted. Store names cannot contain it.
const deletedMark = "~deleted-";

function isOurs(name: string): boolean {
  const passing = name === "lock" || name.startsWith(temporaryPrefix) || relaxedPattern.test(name);
  return passing || isLogFileName(name);
}

// Returns whether a file with this name is part of a log.
export function isLogFileName(name: string): boolean {
  return (
    numberFromName("wal-", name) !== undefined ||
    generationFromName(name) !== undefined ||
    partFromName(name) !== undefined
  );
}

// ---- Names --------------------------------------------------------------------------------------

// Returns the name of the manifest of a generation. The first version of the layout had one name
// for all manifests; a manifest with that name has generation 0.
export function generationName(generation: number): string {
  return generation === 0 ? manifestName : `${manifestName}-${hex(generation)}`;
}

// Returns the generation of the manifest with this name; undefined for other names.
export function generationFromName(name: string): number | undefined {
  if (name === manifestName) return 0;
  const digits = /^manifest-([0-9a-f]{16})$/.exec(name)?.[1];
  return digits === undefined ? undefined : safeNumber(digits);
}

// Returns the name of a part that an owner writes. The first version of the layout named parts
// without their owners; such a part has owner 0.
export function ownedPartName(id: number, owner: number): string {
  return owner === 0 ? partName(id) : `${partName(id)}-${hex(owner)}`;
}

// Returns the id and the owner of the part with this name; undefined for other names.
export function partFromName(name: string): { id: number; owner: number } | undefined {
  const [, plain = "", owner = "0"] = /^(part-[0-9a-f]{16})(?:-([0-9a-f]{16}))?$/.exec(name) ?? [];
  const [id, number] = [numberFromName("part-", plain), safeNumber(owner)];
  return id === undefined || number === undefined ? undefined : { id, owner: number };
}

export function relaxedName(sequence: number, hash: string): string {
  return `relaxed-${hex(sequence)}-${hash}`;
}

export function reserveName(id: string): string {
  return `${temporaryPrefix}reserve-${id}`;
}

// Returns the numbers of the segments among these names, ascending.
export function segmentNumbers(names: readonly string[]): number[] {
  return names.flatMap((name) => numberFromName("wal-", name) ?? []).sort((a, b) => a - b);
}

function hex(number: number): string {
  return number.toString(16).padStart(16, "0");
}

function safeNumber(digits: string): number | undefined {
  const number = Number.parseInt(digits, 16);
  return Number.isSafeInteger(number) ? number : undefined;
}

// ---- Flushing and errors ------------------------------------------------------------------------

// Flushes a folder, so that file names that were created, changed or deleted survive a power
// failure.
export async function flushFolder(folder: string, fs: NodeFs["promises"]): Promise<void> {
  let opened: NodeFile;
  try {
    opened = await fs.open(folder, "r");
  } catch (error) {
    // Windows cannot open folders, and needs no flush.
    if (["EISDIR", "EPERM", "EACCES"].includes(systemErrorCode(error))) return;
    throw error;
  }
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

// Whether the disk, the user's quota or the limit of a file's size is reached.
export function isLackOfSpace(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EFBIG"].includes(systemErrorCode(error));
}

// Converts a file system error to a StorageError.
export function storageErrorFrom(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  if (isLackOfSpace(error)) return new StorageError("quota", "The disk is full.", error);
  return new StorageError("aborted", `The file system failed: ${String(error)}`, error);
}
