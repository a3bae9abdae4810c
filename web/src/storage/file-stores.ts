// Stores as folders of files, by name: <path>/<store's name>/. Loaded only when a store of files is
// asked for. REQUIRES: Node.

import { StoreError } from "../errors.ts";
import type { AbortSignalLike } from "../types.ts";
import {
  type NodeFs,
  type NodeProcess,
  nodeModule,
  nodeProcess,
  systemErrorCode,
} from "../util/node.ts";
import { type FolderLock, lockFolder } from "./folder-lock.ts";
import { deleteFolder, isLogFileName, makeFolder } from "./log-folder.ts";
import { NodeFilesStorage } from "./node-files.ts";

export interface FileStoreOptions {
  path: string;
  name: string; // checked
  waitMs: number; // for another process to let the store go
  signal?: AbortSignalLike | undefined;
}

// Makes the store's folder if need be.
export async function openFileStore(
  options: FileStoreOptions,
): Promise<{ storage: NodeFilesStorage; lock: FolderLock }> {
  const { fs, process } = await node();
  const folder = await folderOf(options);
  let lock: FolderLock | undefined;
  try {
    await makeFolder(folder, fs);
    await requireExactName(options, fs);
    lock = await lockFolder(folder, { ...options, process });
    return { storage: await NodeFilesStorage.open(folder, fs), lock };
  } catch (error) {
    lock?.release();
    throw storeErrorFrom(error, folder);
  }
}

// Whether it exists or not.
export async function deleteFileStore(options: FileStoreOptions): Promise<void> {
  const { fs, process } = await node();
  const folder = await folderOf(options);
  try {
    const lock = await lockFolder(folder, { ...options, process }).catch((error: unknown) => {
      if (systemErrorCode(error) !== "ENOENT") throw error;
      return undefined; // it does not exist, but may have been deleted half-way
    });
    await deleteFolder(folder, fs).finally(() => lock?.release());
  } catch (error) {
    throw storeErrorFrom(error, folder);
  }
}

// The names of the stores in a folder, sorted. A store into which nothing was written yet is one
// too.
export async function listFileStores(path: string): Promise<string[]> {
  const { fs } = await node();
  const found: string[] = [];
  for (const name of await namesIn(path, fs)) {
    if (!/^[A-Za-z0-9._-]{1,63}$/.test(name)) continue;
    const files = await fs.readdir(`${path}/${name}`).catch(() => [""]); // not a folder
    if (files.length === 0 || files.some((file) => file === "lock" || isLogFileName(file))) {
      found.push(name);
    }
  }
  return found.sort();
}

async function node(): Promise<{ fs: NodeFs["promises"]; process: NodeProcess }> {
  return { fs: (await nodeModule("node:fs")).promises, process: nodeProcess() as NodeProcess };
}

async function folderOf({ path, name }: FileStoreOptions): Promise<string> {
  return (await nodeModule("node:path")).resolve(path, name);
}

// Where the case of letters makes no difference, or the end of a name is cut off, two stores would
// share a folder.
async function requireExactName({ path, name }: FileStoreOptions, fs: NodeFs["promises"]) {
  if ((await namesIn(path, fs)).includes(name)) return;
  throw new StoreError(
    "ValidationFailed",
    `The file system gives "${name}" another store's folder.`,
    {
      hint: "Give the store a name that differs in more than the case of its letters.",
    },
  );
}

async function namesIn(path: string, fs: NodeFs["promises"]): Promise<string[]> {
  try {
    return await fs.readdir(path);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return [];
    throw storeErrorFrom(error, path);
  }
}

// What the system says about a folder that can't be used (not allowed, read-only, not a folder) as
// an error of ours.
function storeErrorFrom(error: unknown, folder: string): unknown {
  if (systemErrorCode(error) === "" || error instanceof StoreError || !(error instanceof Error))
    return error;
  return new StoreError("PersistenceUnavailable", `${folder} can't be used: ${error.message}`, {
    cause: error,
  });
}
