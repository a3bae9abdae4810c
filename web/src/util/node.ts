// Types of the Node modules that the package uses, and access to these modules. The types are our
// own, because Node's types would add Node's globals to the types of every page's program;
// tests/web/node-files.test.ts compares both. Modules are imported when first used. Their names are
// not literals there, so that bundlers for browsers do not look for the modules.

import type { ArrayBufferBytes } from "../types.ts";

export interface NodeFile {
  read(bytes: Uint8Array, offset: number, length: number): Promise<{ bytesRead: number }>;
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ bytesWritten: number }>;
  stat(): Promise<{ readonly size: number }>;
  sync(): Promise<void>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

export interface NodeStats {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

export interface NodeFileSystemStats {
  readonly bsize: number;
  readonly blocks: number;
  readonly bfree: number;
  readonly bavail: number;
}

// Uint8Array<ArrayBuffer>, in words that TypeScript 5.2 knows.
type OwnedBytes = ReturnType<Uint8Array["slice"]>;

export interface NodeFs {
  readonly promises: {
    open(path: string, flags: string): Promise<NodeFile>;
    readFile(path: string | URL): Promise<OwnedBytes>;
    readdir(path: string): Promise<string[]>;
    mkdir(path: string, options: { recursive: boolean }): Promise<unknown>;
    rename(from: string, to: string): Promise<void>;
    link(existing: string, path: string): Promise<void>;
    unlink(path: string): Promise<void>;
    rmdir(path: string): Promise<void>;
    stat(path: string, options: { bigint: true }): Promise<NodeStats>;
    statfs(path: string): Promise<NodeFileSystemStats>;
  };
  readFileSync(path: string | URL, encoding: "utf8"): string;
  writeFileSync(path: string, text: string, options: { flag: string }): void;
  appendFileSync(path: string, text: string): void;
  linkSync(existing: string, path: string): void;
  renameSync(from: string, to: string): void;
  unlinkSync(path: string): void;
}

export interface NodePath {
  join(...paths: string[]): string;
  resolve(...paths: string[]): string;
  dirname(path: string): string;
}

export interface NodeCrypto {
  createHash(algorithm: string): {
    update(bytes: Uint8Array): { digest(encoding: "hex"): string };
  };
}

export interface NodeUtil {
  parseArgs(config: {
    args: string[];
    options: Record<string, NodeOptionConfig>;
    strict: false;
    allowPositionals: true;
    tokens: true;
  }): { tokens: NodeArgToken[] };
}

export interface NodeOptionConfig {
  type: "string" | "boolean";
  short?: string;
}

// `index` is that of the argument in `args`.
export type NodeArgToken =
  | NodeOptionToken
  | { kind: "positional"; index: number }
  | { kind: "option-terminator"; index: number };

export interface NodeOptionToken {
  kind: "option";
  index: number;
  name: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined; // whether the value follows a "="
}

export interface NodeProcess {
  readonly pid: number;
  readonly platform: string;
  readonly versions: { readonly node?: string };
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeOutput;
  readonly stderr: NodeOutput;
  getBuiltinModule?(name: string): object | undefined; // from 20.16 on
  kill(pid: number, signal: 0): boolean;
  on(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
  exit(code: number): never;
}

export interface NodeOutput {
  write(text: string): boolean;
}

// ---- HTTP -------------------------------------------------------------------------------------

export interface NodeHttp {
  createServer(options: NodeServerOptions, listener: NodeRequestListener): NodeServer;
}

export interface NodeServerOptions {
  maxHeaderSize?: number; // bytes
  // All in milliseconds.
  headersTimeout?: number;
  requestTimeout?: number;
  keepAliveTimeout?: number;
  handshakeTimeout?: number; // of HTTPS
  connectionsCheckingInterval?: number;
  cert?: string;
  key?: string;
}

export type NodeRequestListener = (request: NodeRequest, response: NodeResponse) => void;

export interface NodeRequest {
  method?: string;
  url?: string; // unchanged from the request line
  rawHeaders: string[]; // name, value, name, value, …; one character per byte
  headers: { [name: string]: string | string[] | undefined };
  socket: NodeSocket;
  on(event: "data", listener: (chunk: ArrayBufferBytes) => void): unknown;
  on(event: "end" | "close" | "error", listener: () => void): unknown;
  off(event: "data", listener: (chunk: ArrayBufferBytes) => void): unknown;
  readonly destroyed: boolean;
  resume(): unknown;
}

export interface NodeSocket {
  remoteAddress?: string;
  destroyed?: boolean;
  destroy?(): unknown;
}

export interface NodeResponse {
  writeContinue(): void;
  flushHeaders(): void;
  writeHead(status: number, reason: string, headers: string[]): unknown;
  write(bytes: Uint8Array, done?: () => void): boolean; // false: "drain" follows
  end(body?: Uint8Array, done?: () => void): unknown;
  destroy(): unknown;
  on(event: "close" | "drain" | "error", listener: () => void): unknown;
}

export interface NodeServer {
  maxConnections: number;
  maxRequestsPerSocket: number | null;
  listen(port: number, host: string, listening: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "checkContinue", listener: NodeRequestListener): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  address(): string | { port: number } | null;
  close(closed: () => void): unknown;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

// ---- Access to the modules --------------------------------------------------------------------

interface Modules {
  "node:fs": NodeFs;
  "node:path": NodePath;
  "node:crypto": NodeCrypto;
  "node:http": NodeHttp;
  "node:https": NodeHttp;
  "node:util": NodeUtil;
}

// Returns a Node module. Prefers getBuiltinModule(), because import() of node:http also runs the
// getters of its other exports, which would take most of a server's start.
export async function nodeModule<K extends keyof Modules>(name: K): Promise<Modules[K]> {
  const builtin = nodeProcess()?.getBuiltinModule?.(name);
  return (builtin ??
    (await import(/* @vite-ignore */ /* webpackIgnore: true */ name))) as Modules[K];
}

// Returns the `process` of Node or a compatible runtime (Deno, Bun); undefined on other platforms.
export function nodeProcess(): NodeProcess | undefined {
  const { process } = globalThis as { process?: Partial<NodeProcess> };
  return process?.versions?.node === undefined ? undefined : (process as NodeProcess);
}

// Returns the code of a system error, such as ENOENT; "" if the error is not a system error.
export function systemErrorCode(error: unknown): string {
  return (error as { code?: string } | null | undefined)?.code ?? "";
}
