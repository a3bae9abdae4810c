import { defineConfig } from "vite";
import { pagesPlugin } from "./build/pages-plugin.ts";
import { separateCopy } from "./build/separate-copy.ts";

// Builds static files that work under any path. All output goes to build/.
export default defineConfig({
  base: "./",
  publicDir: "../../build/site-data",
  plugins: [pagesPlugin(import.meta.dirname), separateCopy("/src/sync-demo/")],
  build: {
    outDir: "../../build/site",
    emptyOutDir: true,
    target: "es2022",
    chunkSizeWarningLimit: 1000,
    license: { fileName: "licenses.md" }, // licenses of the bundled packages
  },
});
