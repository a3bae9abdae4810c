// Applies a client's unstored writes again at the owner, in the order of their numbers.

import { StoreError, type StoreErrorCode } from "../errors.ts";
import type { OwnerHost } from "../transport.ts";
import type { AbortSignalLike } from "../types.ts";
import { ownBuffer } from "./channel.ts";
import { errorToWire, type FailedWrite, type UnstoredCall } from "./messages.ts";

// Writes are applied in groups of about this size, each with one read of the parts that it needs.
const groupBytes = 1024 * 1024;

export interface RepeatOptions {
  leavesOut: boolean; // see messages.ts
  signal: AbortSignalLike; // stops before the next group
}

export interface RepeatResult {
  failed: FailedWrite[]; // the writes that had no effect
  error?: unknown; // why the writes after the last applied one were not applied
}

// If a group fails, its writes are tried one by one, so that all before the one that fails are
// applied.
export async function repeatWrites(
  host: Pick<OwnerHost, "repeatWrites">,
  writes: readonly UnstoredCall[],
  { leavesOut, signal }: RepeatOptions,
): Promise<RepeatResult> {
  const failed: FailedWrite[] = [];
  let alone = 0; // how many of the next writes are tried one by one
  for (let next = 0; next < writes.length; ) {
    const group = alone > 0 ? writes.slice(next, next + 1) : leadingGroup(writes, next);
    const [{ number }] = group as [UnstoredCall];
    try {
      const requests = group.map(({ request }) => request);
      const repeated = await host.repeatWrites(requests, signal);
      for (const [i, response] of repeated.responses.entries())
        if (repeated.failed[i])
          failed.push({ number: (group[i] as UnstoredCall).number, response: ownBuffer(response) });
      next += repeated.responses.length;
      alone -= 1;
    } catch (error) {
      if (group.length > 1) {
        alone = group.length;
        continue;
      }
      if (!leavesOut || !isOfWrite(error)) return { failed, error };
      failed.push({ number, error: errorToWire(error) });
      next += 1;
      alone -= 1;
    }
  }
  return { failed };
}

function leadingGroup(writes: readonly UnstoredCall[], from: number): readonly UnstoredCall[] {
  let to = from;
  for (let bytes = 0; to < writes.length && bytes < groupBytes; ++to)
    bytes += (writes[to] as UnstoredCall).request.length;
  return writes.slice(from, to);
}

const codesOfWrites: ReadonlySet<StoreErrorCode> = new Set([
  "OutOfMemory",
  "WasmLoadFailed",
  "WasmVersionMismatch",
]);

// Whether other writes may succeed, although this one failed alone.
function isOfWrite(error: unknown): boolean {
  return error instanceof StoreError && codesOfWrites.has(error.code);
}
