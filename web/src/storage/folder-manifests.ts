// The manifests of a log in a folder, numbered by generation; the one with the highest generation
// is in force (FENCING.md, "Files in Node").
//
// A generation is taken by creating its file, which fails if the file exists. An owner takes one
// when it claims the log, for a second name of the manifest in force, and one for each checkpoint.
// A stale owner finds its next generation taken. So it can commit nothing, and it learns from two
// names whether it still owns the log, without reading a manifest.
//
// Generations are removed in ascending order, and an owner keeps the one before its own. If a
// generation is there, the next one was therefore never removed. A stale owner that creates a file
// under a removed number notices this: its own previous manifest is gone.

import { confirming, type FolderFiles } from "./folder-files.ts";
import { generationFromName, generationName } from "./log-folder.ts";
import { equalBytes, fencedError, manifestName, type StorageError } from "./log-storage.ts";

// The content of a generation that was taken while the log had no manifest.
const noManifest = new TextEncoder().encode("no manifest\n");

interface Manifest {
  generation: number;
  fingerprint: string; // of its file
}

export class FolderManifests {
  readonly #files: FolderFiles;
  // The manifest that was loaded or that this owner stored last; undefined: there was none.
  #known: Manifest | undefined;
  // The manifest of the last commit(), if it is unknown whether that took the generation.
  #attempted: Manifest | undefined;
  #owner: number | undefined; // the generation by which this owner claimed the log
  // The last change of #known; changes run one at a time.
  #changing: Promise<unknown> = Promise.resolve();

  constructor(files: FolderFiles) {
    this.#files = files;
  }

  // Whether this owner has claimed the log.
  get isOwned(): boolean {
    return this.#owner !== undefined;
  }

  // The number in the names of this owner's parts: no other owner has it, and later owners have
  // higher ones. REQUIRES: isOwned.
  get owner(): number {
    if (this.#owner === undefined) throw new Error("The log was not claimed.");
    return this.#owner;
  }

  // Reads a manifest. Bytes are undefined if the generation says that there is no manifest, and
  // empty, which is damage, if the file cannot be read.
  async read(generation: number | undefined): Promise<Uint8Array | undefined> {
    if (generation === undefined) return undefined;
    const bytes = await this.#files.read(generationName(generation));
    if (bytes === undefined) return new Uint8Array();
    return equalBytes(bytes, noManifest) ? undefined : bytes;
  }

  // The log was loaded with this manifest. Returns false if the manifest has been removed since.
  async onLoaded(generation: number | undefined): Promise<boolean> {
    this.#owner = undefined;
    this.#known = undefined;
    this.#attempted = undefined;
    if (generation === undefined) return true;
    const fingerprint = await this.#files.fingerprint(generationName(generation));
    if (fingerprint !== undefined) this.#known = { generation, fingerprint };
    return fingerprint !== undefined;
  }

  // Returns whether no other owner had taken a generation when this call began.
  isInForce(): Promise<boolean> {
    return this.#afterChanges(async () => {
      await this.#settleAttempt();
      const known = this.#known;
      if (known === undefined) return highestGeneration(await this.#files.list()) === undefined;
      // In this order: the next one is removed only after the known one.
      if (await this.#files.exists(generationName(known.generation + 1))) return false;
      return this.#isThere(known);
    });
  }

  async requireInForce(): Promise<void> {
    if (!(await this.isInForce())) throw fencedError(manifestName);
  }

  // Claims the log by taking a generation, unless this owner has done so. Throws "fenced" if
  // another owner has taken it.
  claim(): Promise<void> {
    return this.#afterChanges(async () => {
      if (this.#owner !== undefined) return;
      const known = this.#known;
      const { name, generation } = this.#next();
      if (!(await this.#publishClaim(known, name))) throw fencedError(name);
      const fingerprint = await confirming(name, this.#files.fingerprint(name));
      if (fingerprint === undefined) throw fencedError(name);
      await this.#taken({ generation, fingerprint });
      this.#owner = generation;
    });
  }

  // Stores a manifest. Throws "fenced" if another owner has taken the generation. REQUIRES:
  // isOwned, and isInForce() was called after a commit() whose outcome is unknown.
  async commit(bytes: Uint8Array): Promise<void> {
    const temporary = await this.#files.writeTemporary(bytes, "flushed");
    try {
      await this.#afterChanges(async () => {
        const fingerprint = await this.#files.fingerprint(temporary);
        const { name, generation } = this.#next();
        if (fingerprint === undefined) throw fencedError(name); // a successor removed the file
        this.#attempted = { generation, fingerprint };
        if (!(await this.#publishAttempt(temporary, name))) throw fencedError(name);
        await this.#taken(this.#attempted);
        this.#attempted = undefined;
      });
    } finally {
      await this.#files.unlink(temporary).catch(() => {});
    }
  }

  // Removes the generations that no call needs any more, except the one before the known one. Stops
  // at the first failure, so that no generation is removed before a lower one.
  async removeOlder(names: readonly string[]): Promise<void> {
    const end = (this.#known?.generation ?? 0) - 1;
    const older = names.flatMap((name) => generationFromName(name) ?? []).filter((n) => n < end);
    for (const n of older.sort((a, b) => a - b)) await this.#files.unlink(generationName(n));
  }

  // The generation that this owner takes next.
  #next(): { name: string; generation: number } {
    const generation = (this.#known?.generation ?? 0) + 1;
    return { name: generationName(generation), generation };
  }

  // A manifest has taken its generation. Throws "fenced" if the number was used before.
  async #taken(manifest: Manifest): Promise<void> {
    const name = generationName(manifest.generation);
    if (!(await confirming(name, this.#wasFree(manifest.generation)))) throw fencedError(name);
    this.#known = manifest;
  }

  // Returns whether a generation that was just taken had never been taken and removed before.
  async #wasFree(generation: number): Promise<boolean> {
    if (this.#known !== undefined) return this.#isThere(this.#known);
    return highestGeneration(await this.#files.list()) === generation;
  }

  async #publishAttempt(temporary: string, name: string): Promise<boolean> {
    try {
      return await this.#files.publish(temporary, name);
    } catch (error) {
      if ((error as StorageError).failure !== "unknown") this.#attempted = undefined;
      throw error;
    }
  }

  // Finds out whether the last commit() took its generation, if that is unknown.
  async #settleAttempt(): Promise<void> {
    const attempted = this.#attempted;
    if (attempted === undefined) return;
    if (await this.#isThere(attempted)) await this.#taken(attempted);
    this.#attempted = undefined;
  }

  async #publishClaim(known: Manifest | undefined, name: string): Promise<boolean> {
    const { generation } = known ?? {};
    if (generation !== undefined) {
      const previous = generationName(generation);
      if (!(await this.#files.exists(previous))) return false;
      return this.#files.publishAgain(previous, name);
    }
    const temporary = await this.#files.writeTemporary(noManifest, "flushed");
    try {
      return await this.#files.publish(temporary, name);
    } finally {
      await this.#files.unlink(temporary).catch(() => {});
    }
  }

  async #isThere({ generation, fingerprint }: Manifest): Promise<boolean> {
    return (await this.#files.fingerprint(generationName(generation))) === fingerprint;
  }

  #afterChanges<T>(call: () => Promise<T>): Promise<T> {
    const done = this.#changing.then(call);
    this.#changing = done.catch(() => {});
    return done;
  }
}

// Returns the generation of the manifest in force; undefined if there is no manifest.
export function highestGeneration(names: readonly string[]): number | undefined {
  const found = names.flatMap((name) => generationFromName(name) ?? []);
  return found.length === 0 ? undefined : Math.max(...found);
}
