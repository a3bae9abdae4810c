import { defineConfig } from "vite";
import { guide } from "./build/guide.ts";

// Static files that work from any path; everything built lands under build/.
export default defineConfig({
  base: "./",
  publicDir: "../../build/site-data",
  plugins: [guide(import.meta.dirname)],
  build: {
    outDir: "../../build/site",
    emptyOutDir: true,
    target: "es2022",
    chunkSizeWarningLimit: 1000,
    license: { fileName: "licenses.md" }, // of what is bundled
  },
});
