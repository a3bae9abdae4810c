// The built package (web/build.mjs) as users get it, with the types of its sources.

import { pathToFileURL } from "node:url";

type Package = typeof import("../../../web/src/index.ts");

const folder =
  process.env.ENTITABLE_PACKAGE === undefined
    ? new URL("../../../build/package/staging/", import.meta.url)
    : pathToFileURL(`${process.env.ENTITABLE_PACKAGE}/`);

export const packageFolder = folder;
export const {
  openStore,
  deleteStore,
  listStores,
  edm,
  RestError,
  StoreError,
  TableTransaction,
  where,
}: Package = await import(new URL("dist/index.js", folder).href);
