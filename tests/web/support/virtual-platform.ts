// Replaces what the platform's clock, timers and random source offer by that of a simulation.

import type { SimulatedProcess, Simulation } from "./simulation.ts";

const RealDate = Date;
const startMs = RealDate.UTC(2030, 0, 1);

// What setTimeout() and setInterval() return, as in Node.
class VirtualTimer {
  cancel: () => void;

  constructor(cancel: () => void) {
    this.cancel = cancel;
  }

  ref = () => this;
  unref = () => this;
  hasRef = () => true;
}

type Callback = (...args: unknown[]) => void;

/** Installs the virtual platform, and returns a function that restores the real one. */
export function installVirtualPlatform(simulation: Simulation): () => void {
  const now = () => simulation.now;
  const { random } = simulation;
  const restorers = [
    replaceProperties(globalThis, {
      ...virtualTimers(simulation),
      Date: virtualDate(now),
      MessageChannel: virtualMessageChannel(simulation),
    }),
    replaceProperties(performance, { now }),
    replaceProperties(crypto, {
      getRandomValues: <T extends ArrayBufferView>(array: T) => {
        const { buffer, byteOffset, byteLength } = array;
        const bytes = new Uint8Array(buffer, byteOffset, byteLength);
        for (let i = 0; i < byteLength; ++i) bytes[i] = random.below(256);
        return array;
      },
    }),
  ];
  return () => {
    for (const restore of restorers) restore();
  };
}

function replaceProperties(object: object, values: Readonly<Record<string, unknown>>): () => void {
  const own = Object.keys(values).map(
    (name) => [name, Object.getOwnPropertyDescriptor(object, name)] as const,
  );
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(object, name, { value, configurable: true, writable: true });
  }
  return () => {
    for (const [name, descriptor] of own) {
      if (descriptor === undefined) Reflect.deleteProperty(object, name);
      else Object.defineProperty(object, name, descriptor);
    }
  };
}

function virtualTimers(simulation: Simulation) {
  const cancel = (timer: VirtualTimer | undefined) => timer?.cancel();
  return {
    setTimeout: (run: Callback, ms = 0, ...args: unknown[]) =>
      new VirtualTimer(simulation.currentProcess.addTimer(ms, () => run(...args))),
    clearTimeout: cancel,
    setInterval: (run: Callback, ms = 0, ...args: unknown[]) =>
      startInterval(simulation.currentProcess, ms, () => run(...args)),
    clearInterval: cancel,
    setImmediate: (run: Callback, ...args: unknown[]) => {
      const timer = new VirtualTimer(() => {
        isCancelled = true;
      });
      let isCancelled = false;
      simulation.currentProcess.addTask("immediate", () => {
        if (!isCancelled) run(...args);
      });
      return timer;
    },
    clearImmediate: cancel,
  };
}

function startInterval(process: SimulatedProcess, ms: number, run: () => void): VirtualTimer {
  const start = () =>
    process.addTimer(ms, () => {
      timer.cancel = start();
      run();
    });
  const timer = new VirtualTimer(start());
  return timer;
}

function virtualDate(now: () => number): DateConstructor {
  const timeNow = () => startMs + Math.floor(now());
  class VirtualDate extends RealDate {
    constructor(...args: [] | [number | string | Date]) {
      super(...((args.length === 0 ? [timeNow()] : args) as [number]));
    }
    static override now = timeNow;
    static override [Symbol.hasInstance](value: unknown): boolean {
      return value instanceof RealDate;
    }
  }
  return VirtualDate as DateConstructor;
}

// Only for code that waits for its own message: each channel is a queue of its process.
function virtualMessageChannel(simulation: Simulation) {
  class Port {
    peer: Port | undefined;
    onmessage: ((event: { data: unknown }) => void) | undefined;

    postMessage(data: unknown): void {
      const copy = structuredClone(data);
      simulation.currentProcess.addTask("message to itself", () =>
        this.peer?.onmessage?.({ data: copy }),
      );
    }
    close(): void {}
    unref(): void {} // as in Node
  }
  return class {
    readonly port1 = new Port();
    readonly port2 = new Port();

    constructor() {
      this.port1.peer = this.port2;
      this.port2.peer = this.port1;
    }
  };
}
