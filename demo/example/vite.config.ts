import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Writes the Service Worker of the offline page, with the names and a hash of all files. */
function serviceWorker(): Plugin {
  const script = new URL("src/service-worker.js", import.meta.url);
  return {
    name: "service-worker",
    apply: "build",
    writeBundle({ dir = "" }, bundle) {
      // A store in a worker would need one more script, which is large.
      const files = Object.keys(bundle).filter((name) => !name.includes("entitable-worker"));
      const hash = createHash("sha256");
      for (const name of files) hash.update(name).update(readFileSync(join(dir, name)));
      const version = hash.digest("hex").slice(0, 16);
      const constants = `const files = ${JSON.stringify(files)};\nconst version = "${version}";\n`;
      writeFileSync(join(dir, "service-worker.js"), constants + readFileSync(script, "utf8"));
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [react(), serviceWorker()],
  build: {
    outDir: "../../build/example",
    emptyOutDir: true,
    target: "es2022",
    rolldownOptions: { input: ["index.html", "offline.html"] },
  },
  test: { include: ["tests/*.test.ts"], testTimeout: 30_000 },
});
