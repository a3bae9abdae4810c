import { defineConfig } from "vite";
import { guide } from "./build/guide.ts";

// Builds static files that work under any path. All output goes to build/.
export default defineConfig({
  base: "./",
  publicDir: "../../build/site-data",
  plugins: [guide(import.meta.dirname)],
  build: {
    outDir: "../../build/site",
    emptyOutDir: true,
    target: "es2022",
    chunkSizeWarningLimit: 1000,
    license: { fileName: "licenses.md" }, // licenses of the bundled packages
  },
});
