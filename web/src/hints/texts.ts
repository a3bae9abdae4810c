// The texts of hints, which are loaded when the first error occurs.

export { addHttpHint } from "./http-errors.ts";
export { addHint } from "./service-errors.ts";
