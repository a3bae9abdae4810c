// Checks that run only in development. Bundlers put the value of NODE_ENV in place of
// `process.env.NODE_ENV`. From a bundle for production, they remove the branch and the file that it
// imports. Node and Deno read the environment variable.

import { mapResponse } from "../transport.ts";
import type { ReadRows } from "./filter-check.ts";
import { RequestEncoder, ResponseDecoder } from "./rpc-codec.ts";

declare const process: { env: { NODE_ENV?: string } };

type Checks = typeof import("./filter-check.ts");

// In development, loads the checks and passes them to `run`. Never throws.
export function inDevelopment(run: (checks: Checks, readRows: ReadRows) => Promise<void>): void {
  try {
    // exactly this expression in this place, so that bundlers remove the import
    if (process.env.NODE_ENV !== "production") {
      import("./filter-check.ts").then((checks) => run(checks, readRows)).catch(() => {}); // fails if the store was closed
    }
  } catch {
    // A page without a bundler has no `process`, so it counts as production.
  }
}

// Here and not in filter-check.ts, so that a page's bundle has these modules in one file.
const readRows: ReadRows = async (transport, table, top) => {
  const response = new RequestEncoder().query(table, { top }, (request) => transport.read(request));
  return await mapResponse(response, (message) =>
    new ResponseDecoder().page(message, { disableTypeConversion: true }),
  );
};
