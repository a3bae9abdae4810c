// A disk with little space, for the folder of a store: a file system of its own if the process may
// mount one, otherwise a budget for the blocks of the folder's files.

import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { type FileSystem, intercepted } from "./intercepted-fs.ts";

const blockBytes = 4096;

// Mounts a file system of this size in a folder. Returns whether it could.
export function mountSmallDisk(folder: string, bytes: number): boolean {
  const options = ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", folder];
  return spawnSync("mount", options).status === 0;
}

export function unmount(folder: string): void {
  spawnSync("umount", ["-l", folder]);
}

// Returns a file system that is full when the files of the folder use this many bytes. A file is
// counted once, however many names it has, and until its last name is deleted.
export function budgetedFileSystem(folder: string, bytes: number): FileSystem {
  return intercepted(async (call, proceed) => {
    const written = /^write .* (\d+)$/.exec(call)?.[1];
    const adds = written === undefined ? 0 : Number(written);
    if (adds > 0 && usedBytes(folder) + adds > bytes)
      throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
    return await proceed();
  });
}

function usedBytes(folder: string): number {
  const sizes = new Map<number, number>();
  for (const name of readdirSync(folder)) {
    const file = statSync(`${folder}/${name}`, { throwIfNoEntry: false });
    if (file === undefined) continue; // was removed meanwhile
    sizes.set(file.ino, Math.max(1, Math.ceil(file.size / blockBytes)) * blockBytes);
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}
