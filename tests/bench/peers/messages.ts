// Steps that somebody else is asked for: a worker by its page, a process of Node by the driver.

export interface Message {
  id: number;
  step: string;
  args: unknown[];
}

export interface Answer {
  id: number;
  value?: unknown;
  error?: string;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Do = (step: string, args: unknown[]) => unknown;

// The side that asks. What comes back is to be given to `receive`.
export class Asker {
  readonly #post: (message: Message) => void;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(post: (message: Message) => void) {
    this.#post = post;
  }

  ask(step: string, args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#last, { resolve, reject });
      this.#post({ id: this.#last, step, args });
    });
  }

  receive({ id, value, error }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(new Error(error));
  }

  // Nobody answers any more.
  fail(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(why));
    this.#waiting.clear();
  }
}

// The side that is asked: to be called with each message.
export function answering(does: Do, post: (answer: Answer) => void) {
  return async ({ id, step, args }: Message): Promise<void> => {
    try {
      post({ id, value: await does(step, args) });
    } catch (error) {
      post({ id, error: String(error) });
    }
  };
}
