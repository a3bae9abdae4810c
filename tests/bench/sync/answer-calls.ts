// Answers the calls that another process sends to this one by messages.

type Calls = Readonly<Record<string, (...args: never[]) => unknown>>;

export function answerCalls(calls: Calls): void {
  process.on("message", async ([name, args]: [string, never[]]) => {
    try {
      process.send?.([await calls[name]?.(...args)]);
    } catch (error) {
      process.send?.([undefined, String((error as Error).stack)]);
    }
  });
  process.send?.("ready");
}
