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
  /** What the remote has answered, also if the response is lost. */
  const answers = new WeakMap<RequestInit, Answer>();
  const inner: typeof fetch = async (input, init = {}) => {
    const response = await remote.fetch(input, init);
    remote.requests.clear(); // they would grow as long as the page is open
    answers.set(init, { refusal: await refusalOf(response) });
    return response;
  };
  const outer =
    (faulty: typeof fetch): typeof fetch =>
    async (input, init = {}) => {
      const note = (answer: Answer | undefined, more = "") => {
        if (init.method !== "POST") return;
        const outcome = answer ? (answer.refusal ?? "executed") + more : "did not arrive";
        onPush({ device, outcome, isExecuted: answer !== undefined && !answer.refusal });
      };
      try {
        const response = await faulty(input, init);
        note(answers.get(init) ?? { refusal: await refusalOf(response) }); // or of a fault
        return response;
      } catch (error) {
        note(answers.get(init), ", and the response was lost");
        throw error;
      }
    };
  return { inner, outer };
}

interface Answer {
  readonly refusal: string | undefined; // undefined: the request was executed
}

/** Undefined: the request was executed. */
async function refusalOf(response: Response): Promise<string | undefined> {
  if (!response.ok) return `not executed: ${response.status}`;
  const text = await response.clone().text();
  const [, status] = /^HTTP\/1\.1 ([45]\d\d)/m.exec(text) ?? [];
  return status === undefined ? undefined : `refused as a whole: ${status}`;
}
