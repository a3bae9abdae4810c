// Creates the receipt of a partition in a request of its own, before the first push. So each batch
// names a version of the receipt. A batch that created the receipt could be executed again after
// the table was deleted and created again: the receipt would be absent once more. A version never
// comes back.

import type { SyncContext } from "./context.ts";
import type { Receipt } from "./hidden-tables.ts";
import type { Partition } from "./keys.ts";
import type { Failure, PushAnswer, ReadAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";

/** The service refuses the key of the receipt, so it refuses all keys of the partition. */
export interface RefusedReceipt {
  readonly refusedWith: string; // the code of the error
}

/**
 * Returns the client's receipt in the partition. If it is absent, it is created, as the fence of a
 * push that does not exist. Waits until the remote answers. REQUIRES: the partition has no frozen
 * push.
 */
export async function createReceipt(
  { platform, remote }: SyncContext,
  requests: Requests,
  partition: Partition,
): Promise<Receipt | RefusedReceipt> {
  const name = { partition, token: platform.token() };
  for (let tries = 0; ; ++tries) {
    const answer = requests.checked<PushAnswer>(await remote.fence(name, undefined));
    if (answer.kind === "applied" && answer.receipt) return { etag: answer.receipt.etag };
    if (answer.kind === "refused" && answer.status === 400) return { refusedWith: answer.code };
    if (answer.kind === "refused" && answer.status === 409) {
      const found = await requests.answered<ReadAnswer>(() => remote.readReceipt(partition));
      if (found.kind === "found") return { etag: found.row.etag };
    }
    await requests.waitAfter(failureOf(answer), tries);
  }
}

/** Another refusal: the credential does not allow receipts. */
function failureOf(answer: PushAnswer): Failure {
  switch (answer.kind) {
    case "failed":
    case "unauthorized":
    case "tableMissing":
      return answer;
    case "refused":
      return { kind: [401, 403].includes(answer.status) ? "unauthorized" : "failed" };
    default:
      return { kind: "failed" };
  }
}
