// Types of the glue, which the wasm build puts beside this file.
import type { CreateModule } from "../../../bindings/module.js";

export type {
  AccountSettings,
  EntitableModule,
  Hmac,
  ResultAddress,
} from "../../../bindings/module.js";

// What the binary of the same build carries in its custom section "entitable" (bindings/stamp.mjs).
export declare const buildId: string;

declare const createModule: CreateModule;
export default createModule;
