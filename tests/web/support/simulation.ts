// Runs asynchronous code on virtual time. One scheduler decides which task runs next, by a seeded
// random choice, so that the seed determines the whole run: a run that failed can be repeated.
//
// Everything that would be a task of an event loop is a task here: timers, immediates, messages,
// and what simulated-tabs.ts adds. Between two tasks all microtasks run, as in an event loop. A
// task takes a few microseconds of virtual time. If no task is ready, the time jumps to the next
// timer. Work that cannot be virtual, such as the instantiation of a WebAssembly module, is passed
// to real(); until it ends, no task runs.

import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as microtasksDone } from "node:timers/promises"; // never the virtual one
import { collectGarbage } from "./collect-garbage.ts";
import { type Random, seededRandom } from "./random.ts";
import { installVirtualPlatform } from "./virtual-platform.ts";

interface Task {
  readonly label: string;
  readonly number: number; // in the order in which they were added
  readonly readyAt: number;
  run(): void;
}

const taskMsMax = 0.05; // the virtual time that a task takes
const limitMs = 120_000; // a simulation that takes longer fails

// Tasks that run in the order in which they were added, or, if they are timers, in the order of
// their times. The order of tasks in different queues is random.
class TaskQueue {
  readonly name: string;
  readonly tasks: Task[] = [];

  constructor(name: string) {
    this.name = name;
  }

  addTimer(task: Task): void {
    const later = this.tasks.findIndex(({ readyAt }) => readyAt > task.readyAt);
    this.tasks.splice(later < 0 ? this.tasks.length : later, 0, task);
  }
}

export interface SimulationOptions {
  // false: tasks run in the order in which they were added, for a test whose steps depend on it.
  isRandom?: boolean;
}

// A process has its own queues of tasks. A frozen process runs none of its tasks until it is
// thawed, and a dead one never again.
export class SimulatedProcess {
  readonly name: string;
  readonly #simulation: Simulation;
  readonly #queues = new Map<string, TaskQueue>();
  #state: "running" | "frozen" | "dead" = "running";

  constructor(simulation: Simulation, name: string) {
    this.#simulation = simulation;
    this.name = name;
  }

  get frozen(): boolean {
    return this.#state === "frozen";
  }
  get dead(): boolean {
    return this.#state === "dead";
  }

  kill(): void {
    this.#state = "dead";
    this.#queues.clear();
  }
  freeze(): void {
    if (this.#state === "running") this.#state = "frozen";
  }
  thaw(): void {
    if (this.#state === "frozen") this.#state = "running";
  }

  // Calls `code`. Timers and immediates that it sets, directly or later, are tasks of this process.
  run<T>(code: () => T): T {
    return contexts.run(this, code);
  }

  // Adds a task that is ready after `delayMs`. Tasks with the same source run in order.
  addTask(source: string, task: () => void, delayMs = 0): void {
    if (this.dead) return;
    this.#queue(source).tasks.push(this.#simulation.newTask(source, delayMs, task));
  }

  // Returns a function that cancels the timer.
  addTimer(delayMs: number, run: () => void): () => void {
    if (this.dead) return () => {};
    const delay = Math.max(1, delayMs || 0);
    const task = this.#simulation.newTask(`timer of ${delay} ms`, delay, run);
    const queue = this.#queue("timers");
    queue.addTimer(task);
    return () => {
      const at = queue.tasks.indexOf(task);
      if (at >= 0) queue.tasks.splice(at, 1);
    };
  }

  #queue(source: string): TaskQueue {
    let queue = this.#queues.get(source);
    if (queue === undefined) {
      queue = new TaskQueue(source);
      this.#queues.set(source, queue);
    }
    return queue;
  }

  // The queues whose tasks may run, now or later.
  get queues(): Iterable<TaskQueue> {
    return this.#state === "running" ? this.#queues.values() : [];
  }

  runFirst(queue: TaskQueue): void {
    const task = queue.tasks.shift() as Task;
    this.#simulation.record(`${this.name}: ${task.label}`);
    contexts.run(this, task.run);
  }
}

type ReadyQueue = [SimulatedProcess, TaskQueue];

const contexts = new AsyncLocalStorage<SimulatedProcess>();
const isReal = new AsyncLocalStorage<boolean>(); // within Simulation.real()
let current: Simulation | undefined;

// node:test has an entry for each promise that is created in a test, until a callback after the
// promise's collection. Node's own collections leave most of these promises in memory: without
// collectGarbage(), a file of simulations took more than 1 GB, and most of its time.
const heapBytesMax = 32 * 1024 * 1024;

export class Simulation {
  readonly random: Random;
  readonly #order: Random;
  readonly #processes: SimulatedProcess[] = [];
  readonly #test: SimulatedProcess; // code outside every other process
  readonly isRandom: boolean;
  #now = 0;
  #tasks = 0; // how many were added
  #realWork: Promise<unknown> | undefined;
  #waiting: { condition: () => boolean; resolve: () => void }[] = [];
  #failure: { error: unknown } | undefined;
  #events = 0;
  #hash = 0;
  readonly lastEvents: string[] = [];

  constructor(seed: number, { isRandom = true }: SimulationOptions = {}) {
    this.isRandom = isRandom;
    this.random = seededRandom(seed);
    this.#order = seededRandom(~seed);
    this.#test = this.newProcess("test");
  }

  // In milliseconds since the beginning.
  get now(): number {
    return this.#now;
  }

  // Identifies the order of events: how many there were, and a hash of them with their times.
  get trace(): string {
    return `${this.#events} ${this.#hash.toString(16)}`;
  }

  newProcess(name: string): SimulatedProcess {
    const process = new SimulatedProcess(this, name);
    this.#processes.push(process);
    return process;
  }

  newTask(label: string, delayMs: number, run: () => void): Task {
    return { label, number: ++this.#tasks, readyAt: this.#now + delayMs, run };
  }

  get currentProcess(): SimulatedProcess {
    return contexts.getStore() ?? this.#test;
  }

  // Adds an event to the trace.
  record(event: string): void {
    const line = `${this.#now.toFixed(3)} ${event}`;
    for (let i = 0; i < line.length; ++i) {
      this.#hash = (Math.imul(this.#hash, 31) + line.charCodeAt(i)) >>> 0;
    }
    this.#events += 1;
    this.lastEvents.push(line);
    if (this.lastEvents.length > 2000) this.lastEvents.splice(0, 1000);
  }

  // Runs work that is not virtual, after that of earlier calls. No task runs meanwhile. The work
  // may call this function.
  real<T>(work: () => Promise<T>): Promise<T> {
    if (isReal.getStore()) return work();
    const result = (this.#realWork ?? Promise.resolve()).then(() => isReal.run(true, work));
    const ended = result.then(
      () => {},
      () => {},
    );
    this.#realWork = ended;
    void ended.then(() => {
      if (this.#realWork === ended) this.#realWork = undefined;
    });
    return result;
  }

  // Resolves directly after the task that makes the condition true.
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ condition, resolve }));
  }

  // Resolves to the result of `body`, which runs on virtual time.
  async run<T>(body: (simulation: Simulation) => Promise<T>): Promise<T> {
    if (current !== undefined) throw new Error("Another simulation is running.");
    const uninstall = installVirtualPlatform(this);
    current = this;
    try {
      let isDone = false;
      const result = contexts
        .run(this.#test, () => body(this))
        .finally(() => {
          isDone = true;
        });
      result.catch(() => {}); // it may fail while the loop runs
      await this.#runTasks(() => isDone);
      return await result;
    } finally {
      current = undefined;
      uninstall();
      if (process.memoryUsage().heapUsed > heapBytesMax) collectGarbage();
    }
  }

  async #runTasks(isDone: () => boolean): Promise<void> {
    for (;;) {
      await microtasksDone();
      while (this.#realWork !== undefined) await this.#realWork.then(() => microtasksDone());
      if (isDone()) return;
      if (this.#failure !== undefined) throw this.#failure.error;
      if (!this.#resolveWaiting()) this.#runTask();
    }
  }

  #resolveWaiting(): boolean {
    const met = this.#waiting.filter(({ condition }) => condition());
    if (met.length === 0) return false;
    this.#waiting = this.#waiting.filter((waiting) => !met.includes(waiting));
    for (const { resolve } of met) resolve();
    return true;
  }

  #runTask(): void {
    const ready: ReadyQueue[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const process of this.#processes) {
      for (const queue of process.queues) {
        const { readyAt = Number.POSITIVE_INFINITY } = queue.tasks[0] ?? {};
        if (readyAt <= this.#now) ready.push([process, queue]);
        next = Math.min(next, readyAt);
      }
    }
    if (ready.length === 0) {
      this.#advanceTo(next);
      return;
    }
    const [process, queue] = this.#choose(ready);
    this.#now += (this.#order.below(5) / 4) * taskMsMax;
    try {
      process.runFirst(queue);
    } catch (error) {
      this.#failure = { error };
    }
  }

  #choose(ready: ReadyQueue[]): ReadyQueue {
    if (this.isRandom) return ready[this.#order.below(ready.length)] as ReadyQueue;
    const numberOf = ([, { tasks }]: ReadyQueue) => (tasks[0] as Task).number;
    return ready.reduce((first, other) => (numberOf(other) < numberOf(first) ? other : first));
  }

  #advanceTo(time: number): void {
    if (time > limitMs) {
      const what = Number.isFinite(time) ? `has not ended after ${limitMs} ms` : "waits forever";
      throw new Error(`The simulation ${what}.`);
    }
    this.#now = time;
  }
}

export const isSimulating = () => current !== undefined;

// REQUIRES: a simulation is running.
export function currentSimulation(): Simulation {
  if (current === undefined) throw new Error("No simulation is running.");
  return current;
}

// ---- For the code of a test ---------------------------------------------------------------------

export const until = (condition: () => boolean) => currentSimulation().until(condition);

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
