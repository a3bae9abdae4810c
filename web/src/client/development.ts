// Checks that run only in development. Bundlers put the value of NODE_ENV in place of
// `process.env.NODE_ENV`. From a bundle for production, they remove the branch and the file that it
// imports. Node and Deno read the environment variable.

declare const process: { env: { NODE_ENV?: string } };

// In development, loads the checks and passes them to `run`. Never throws.
export function inDevelopment(
  run: (checks: typeof import("./filter-check.ts")) => Promise<void>,
): void {
  try {
    // exactly this expression in this place, so that bundlers remove the import
    if (process.env.NODE_ENV !== "production") {
      import("./filter-check.ts").then(run).catch(() => {}); // fails if the store was closed
    }
  } catch {
    // A page without a bundler has no `process`, so it counts as production.
  }
}
