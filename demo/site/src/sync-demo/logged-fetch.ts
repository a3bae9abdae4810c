// Notes what became of the requests that send local writes: what a reader could see in the network
// and at the remote.
import type { MockStore } from "entitable/testing";

export interface Push {
  readonly device: string;
  readonly outcome: string;
  readonly isExecuted: boolean;
}

/** `inner` sends requests to the remote. `outer` is what sync calls, with faults between them. */
export function loggedFetch(device: string, remote: MockStore, onPush: (push: Push) => void) {
  const reached = new WeakSet<RequestInit>();
  const inner: typeof fetch = (input, init) => {
    if (init !== undefined) reached.add(init);
    return remote.fetch(input, init);
  };
  const outer =
    (faulty: typeof fetch): typeof fetch =>
    async (input, init = {}) => {
      const note = (outcome: string, isExecuted: boolean) => {
        if (init.method === "POST") onPush({ device, outcome, isExecuted });
      };
      try {
        const response = await faulty(input, init);
        const refusal = await refusalOf(response);
        note(refusal ?? "executed", refusal === undefined);
        return response;
      } catch (error) {
        const isExecuted = reached.has(init);
        note(isExecuted ? "executed, and the response was lost" : "did not arrive", isExecuted);
        throw error;
      }
    };
  return { inner, outer };
}

/** Undefined: the request was executed. */
async function refusalOf(response: Response): Promise<string | undefined> {
  if (!response.ok) return `not executed: ${response.status}`;
  const text = await response.clone().text();
  const [, status] = /^HTTP\/1\.1 ([45]\d\d)/m.exec(text) ?? [];
  return status === undefined ? undefined : `refused as a whole: ${status}`;
}
