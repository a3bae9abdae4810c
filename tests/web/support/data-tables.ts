// The built package's entry entitable/data-tables, with the types of its sources.

import { packageFolder } from "./package.ts";

type Entry = typeof import("../../../web/src/data-tables/index.ts");

export const dataTables: Entry = await import(
  new URL("dist/data-tables/index.js", packageFolder).href
);
