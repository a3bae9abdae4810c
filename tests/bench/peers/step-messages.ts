// Messages that request steps of a session: from a page to its worker, and from the driver to a
// Node process.

export interface StepRequest {
  id: number;
  step: string;
  args: unknown[];
}

export interface StepResponse {
  id: number;
  value?: unknown;
  error?: string;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type RunStep = (step: string, args: unknown[]) => unknown;

// The requesting side. The caller must pass responses to receive().
export class StepClient {
  readonly #post: (message: StepRequest) => void;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(post: (message: StepRequest) => void) {
    this.#post = post;
  }

  call(step: string, args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#last, { resolve, reject });
      this.#post({ id: this.#last, step, args });
    });
  }

  receive({ id, value, error }: StepResponse): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(new Error(error));
  }

  // Rejects all pending steps, because no more responses will arrive.
  fail(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(why));
    this.#waiting.clear();
  }
}

// Returns the message handler of the side that runs the steps.
export function stepHandler(runStep: RunStep, post: (answer: StepResponse) => void) {
  return async ({ id, step, args }: StepRequest): Promise<void> => {
    try {
      post({ id, value: await runStep(step, args) });
    } catch (error) {
      post({ id, error: String(error) });
    }
  };
}
