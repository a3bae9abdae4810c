// Node's file system for a folder of a log, with a hook around each call.

import * as fs from "node:fs";
import { basename } from "node:path";
import type { NodeFs } from "../../../web/src/util/node.ts";

export type FileSystem = NodeFs["promises"];
export const realFileSystem: FileSystem = (fs satisfies NodeFs).promises;

// Gets a call's description ("link tmp-… wal-…"; "write … 0 12", without the bytes) and makes the
// call by calling `proceed`. If it throws, the caller of the file system gets its error.
export type Interceptor = (call: string, proceed: () => Promise<unknown>) => Promise<unknown>;

// Returns a file system whose calls go through `interceptor`. It flushes nothing, which saves time.
export function intercepted(interceptor: Interceptor): FileSystem {
  const wrap = <A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) => {
    return (...args: A) => {
      const words = args.map((arg) => (ArrayBuffer.isView(arg) ? "…" : basename(String(arg))));
      return interceptor([name, ...words].join(" "), () => call(...args)) as Promise<R>;
    };
  };
  const names = ["readFile", "readdir", "rename", "link", "unlink", "stat"] as const;
  const real = realFileSystem;
  const wrapped = names.map((name) => [name, wrap(name, real[name] as () => Promise<unknown>)]);
  const open = async (path: string, flags: string) => {
    let file: Awaited<ReturnType<FileSystem["open"]>> | undefined;
    const openFile = async (..._args: [string, string]) => {
      file = await real.open(path, flags);
      const opened = file;
      const flush = wrap("flush", async () => {});
      const write = wrap("write", (from: Uint8Array, at: number, n: number) =>
        opened.write(from, at, n),
      );
      const read = wrap("read", (into: Uint8Array, at: number, n: number) =>
        opened.read(into, at, n),
      );
      const close = wrap("close", () => opened.close());
      return { read, write, stat: () => opened.stat(), sync: flush, datasync: flush, close };
    };
    try {
      return await wrap("open", openFile)(path, flags);
    } catch (error) {
      await file?.close(); // the caller never gets it
      throw error;
    }
  };
  return { ...real, ...Object.fromEntries(wrapped), open };
}
