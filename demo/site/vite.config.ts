import { defineConfig } from "vite";

// Static files that work from any path; everything built lands under build/.
export default defineConfig({
  base: "./",
  publicDir: "../../build/site-data",
  build: {
    outDir: "../../build/site",
    emptyOutDir: true,
    target: "es2022",
    chunkSizeWarningLimit: 1000,
  },
});
