// TanStack DB, which tests/types installs, and the entry for it of the built package.

import { createRequire } from "node:module";
import { packageFolder } from "./package.ts";

type Entry = typeof import("../../../web/src/tanstack/db.ts");

const required = createRequire(new URL("../../types/package.json", import.meta.url));

export const db: typeof import("@tanstack/db") = required("@tanstack/db");
export const { entitableCollectionOptions }: Entry = await import(
  new URL("dist/tanstack/db.js", packageFolder).href
);

type QueryEntry = typeof import("../../../web/src/tanstack/query.ts");
type QueryCore = typeof import("@tanstack/query-core");

const queryCore: QueryCore = createRequire(required.resolve("@tanstack/react-query"))(
  "@tanstack/query-core",
);
const queryEntry: QueryEntry = await import(new URL("dist/tanstack/query.js", packageFolder).href);

/** TanStack Query without a framework, and the entry for it. */
export const query: QueryCore & QueryEntry = { ...queryCore, ...queryEntry };
