// `entitable/elements`: `entitable` and `entitable/explorer` in one file, for pages without a
// bundler. web/build.mjs bundles it; only the wasm files and the worker's script are separate.

export * from "./explorer/index.ts";
export * from "./index.ts";
