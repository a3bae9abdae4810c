// Tests the scheduler and the virtual clock of support/simulation.ts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as realSleep } from "node:timers/promises";
import { Simulation, sleep, turn, until } from "./support/simulation.ts";

const seeds = Array.from({ length: 20 }, (_, i) => i);

// Two processes that increment a counter, each in two tasks. Resolves to the counter.
async function incrementTwice(simulation: Simulation): Promise<number> {
  let counter = 0;
  let ended = 0;
  for (const name of ["a", "b"]) {
    const process = simulation.newProcess(name);
    process.addTask("read", () => {
      const read = counter;
      process.addTask("write", () => {
        counter = read + 1;
        ended += 1;
      });
    });
  }
  await until(() => ended === 2);
  return counter;
}

async function traceOf(seed: number): Promise<string> {
  const simulation = new Simulation(seed);
  await simulation.run(incrementTwice);
  return simulation.trace;
}

test("the same seed gives the same order of events, and other seeds give others", async () => {
  const traces: string[] = [];
  for (const seed of seeds) traces.push(await traceOf(seed));
  for (const seed of seeds) assert.equal(await traceOf(seed), traces[seed]);
  assert(new Set(traces).size > 10, `${new Set(traces).size} different ones`);
});

test("canary: some orders of events show a lost update, and others do not", async () => {
  const counters = new Set<number>();
  for (const seed of seeds) counters.add(await new Simulation(seed).run(incrementTwice));
  assert.deepEqual([...counters].sort(), [1, 2]);
});

test("tasks run in the order in which they were added, if the order is not random", async () => {
  for (const seed of seeds) {
    const order: string[] = [];
    await new Simulation(seed, { isRandom: false }).run(async (simulation) => {
      const [a, b] = [simulation.newProcess("a"), simulation.newProcess("b")];
      for (const process of [b, a, b]) {
        for (const source of ["x", "y"]) {
          process.addTask(source, () => order.push(process.name + source));
        }
      }
      await until(() => order.length === 6);
    });
    assert.deepEqual(order, ["bx", "by", "ax", "ay", "bx", "by"]);
  }
});

test("tasks of one source run in order, and timers in the order of their times", async () => {
  for (const seed of seeds) {
    const messages: number[] = [];
    const timers: number[] = [];
    await new Simulation(seed).run(async (simulation) => {
      const process = simulation.newProcess("a");
      for (const i of [1, 2, 3]) process.addTask("b", () => messages.push(i), 9 - i);
      for (const ms of [30, 10, 20]) setTimeout((n: number) => timers.push(n), ms, ms);
      await sleep(40);
    });
    assert.deepEqual(messages, [1, 2, 3]);
    assert.deepEqual(timers, [10, 20, 30]);
  }
});

test("a minute of virtual time passes at once, on every clock", async () => {
  const startedAt = Date.now();
  const started = performance.now();
  await new Simulation(1).run(async () => {
    const [date, time] = [Date.now(), performance.now()];
    await sleep(60_000);
    assert.equal(Math.round((Date.now() - date) / 1000), 60);
    assert.equal(Math.round((performance.now() - time) / 1000), 60);
    const today = new Date();
    assert.equal(today.getTime(), Date.now());
    assert(today instanceof Date && structuredClone(today) instanceof Date);
    assert.equal(new Date(5).getTime(), 5);
  });
  assert(Date.now() >= startedAt && performance.now() >= started, "the real clocks are back");
});

test("cancelled timers do not run, and intervals repeat until they are cancelled", async () => {
  let ticks = 0;
  await new Simulation(1).run(async () => {
    const interval = setInterval(() => {
      ticks += 1;
      if (ticks === 3) clearInterval(interval);
    }, 10);
    clearTimeout(setTimeout(() => assert.fail(), 5));
    clearImmediate(setImmediate(() => assert.fail()));
    clearTimeout(undefined);
    await sleep(100);
  });
  assert.equal(ticks, 3);
});

test("a frozen process runs nothing until it is thawed, and a dead one never again", async () => {
  const ran: string[] = [];
  await new Simulation(1).run(async (simulation) => {
    const processes = ["frozen", "dead"].map((name) => simulation.newProcess(name));
    const [frozen, dead] = processes as [(typeof processes)[0], (typeof processes)[0]];
    for (const process of processes) {
      process.run(async () => {
        setTimeout(() => ran.push(`${process.name}: timer`), 10);
        await turn();
        ran.push(`${process.name}: code`);
      });
    }
    frozen.freeze();
    dead.kill();
    await sleep(50);
    assert.deepEqual(ran, []);
    frozen.thaw();
    dead.thaw();
    await sleep(1);
  });
  assert.deepEqual(ran.sort(), ["frozen: code", "frozen: timer"]);
});

test("no task runs, and no time passes, while real work is under way", async () => {
  await new Simulation(1).run(async (simulation) => {
    const order: string[] = [];
    const work = (name: string, ms: number) =>
      simulation.real(async () => {
        await realSleep(ms);
        order.push(name);
      });
    const works = Promise.all([work("long", 20), work("short", 1)]);
    const started = performance.now();
    setTimeout(() => order.push("timer"), 1);
    await works;
    assert.equal(performance.now(), started);
    await sleep(2);
    assert.deepEqual(order, ["long", "short", "timer"]);
  });
});

test("random bytes depend on the seed", async () => {
  const bytes = (seed: number) =>
    new Simulation(seed).run(async () => [...crypto.getRandomValues(new Uint8Array(8))]);
  assert.deepEqual(await bytes(1), await bytes(1));
  assert.notDeepEqual(await bytes(1), await bytes(2));
});

test("a simulation fails if it cannot end, or if a task throws", async () => {
  const never = () => new Promise<void>(() => {});
  await assert.rejects(new Simulation(1).run(never), /waits forever/);
  const ticking = () => {
    setInterval(() => {}, 1000);
    return never();
  };
  await assert.rejects(new Simulation(1).run(ticking), /has not ended after 120000 ms/);
  const throwing = () => {
    setTimeout(() => {
      throw new RangeError("in a task");
    }, 1);
    return never();
  };
  await assert.rejects(new Simulation(1).run(throwing), RangeError);
  const nested = () => new Simulation(2).run(async () => {});
  await assert.rejects(new Simulation(1).run(nested), /Another simulation/);
  assert.equal(await new Simulation(1).run(async () => 7), 7);
});
