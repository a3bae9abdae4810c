// Types of the JavaScript glue, which the wasm build writes into this folder.
import type { CreateModule } from "../../../bindings/module.js";

export type {
  AccountSettings,
  EntitableModule,
  Hmac,
  ResultAddress,
} from "../../../bindings/module.js";

// The build id, which the modules have in their custom section "entitable" (bindings/stamp.mjs).
export declare const buildId: string;

declare const createModule: CreateModule;
export default createModule;
