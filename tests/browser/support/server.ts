// A static file server for tests. Serves a folder under "/" with the headers that a careful host
// would send.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

const types: Record<string, string> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".mjs": "text/javascript",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

export interface Site {
  readonly url: string; // ends with a slash
  close(): Promise<void>;
}

export interface SiteOptions {
  headers?: Record<string, string>;
  cachesFiles?: boolean; // the browser may keep the folder's files, which must not change
  types?: Record<string, string>; // MIME types by file extension, instead of the correct ones
  under?: string; // a path between slashes under which the folder is served instead of "/"
  // Returns a response that is sent instead of the file, for example a page for every path or a
  // wrong MIME type.
  override?: (path: string) => SiteResponse | undefined;
}

export interface SiteResponse {
  status?: number; // default: 200
  type?: string; // default: text/html
  headers?: Record<string, string>; // in addition to those of the site
  body: string;
}

// An empty page at "/", in addition to the folder's files.
export const blankPage: NonNullable<SiteOptions["override"]> = (path) =>
  path === "/" ? { body: "<!doctype html><title>entitable</title>" } : undefined;

export async function serve(folder: string, options: SiteOptions = {}): Promise<Site> {
  const { under = "/" } = options;
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://site").pathname);
    const headers = { "cache-control": "no-store", ...options.headers };
    const instead = options.override?.(path);
    if (instead !== undefined) {
      response.writeHead(instead.status ?? 200, {
        ...headers,
        "content-type": instead.type ?? "text/html",
        ...instead.headers,
      });
      response.end(instead.body);
      return;
    }
    const inside = path.startsWith(under) ? path.slice(under.length) : "..";
    const file = join(folder, normalize(/(^|\/)$/.test(inside) ? `${inside}index.html` : inside));
    const found = file.startsWith(folder) ? await stat(file).catch(() => undefined) : undefined;
    if (found?.isFile() !== true) {
      response.writeHead(404, headers).end("not found");
      return;
    }
    response.writeHead(200, {
      ...headers,
      ...(options.cachesFiles && { "cache-control": "max-age=3600" }),
      "content-type":
        options.types?.[extname(file)] ?? types[extname(file)] ?? "application/octet-stream",
    });
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}${under}`, close: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
