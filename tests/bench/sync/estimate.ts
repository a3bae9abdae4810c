// Compares what `estimate()` says with the requests of a simulated day, of a session whose clock is
// that of the simulation.

import { estimateOf } from "../../../web/src/start-sync/estimate.ts";
import { settingsOf } from "../../../web/src/start-sync/options.ts";
import { keyOf } from "../../../web/src/sync/keys.ts";
import { stretchesOf } from "../../../web/src/sync-remote/key-stretches.ts";
import { minute, text, World } from "../../sync/session-world.ts";
import type { Measured } from "./measured.ts";

const dayMs = 24 * 60 * minute;
const groupRows = 100;

export async function estimate(): Promise<Measured[]> {
  const ratios: string[] = [];
  for (const rows of [500, 5000, 20_000]) ratios.push(await compare(rows));
  return [
    {
      what: "requests of a simulated day, relative to the estimate: 500, 5,000, 20,000 entities",
      target: "0.9 to 1.1",
      values: { node: ratios.join(", ") },
    },
  ];
}

async function compare(rows: number): Promise<string> {
  const world = new World();
  for (let i = 0; i < rows; i += groupRows) {
    const operations = Array.from({ length: groupRows }, (_, k) => ({
      kind: "insert" as const,
      key: keyOf("p", String(i + k).padStart(9, "0")),
      properties: text("a"),
    }));
    world.remote.execute("p", operations);
  }
  world.rows = rows;
  world.session.start();
  await world.pass(30 * minute); // the first download and comparison
  const counted = (await world.pass(dayMs)).length;
  void world.session.stop(); // its end would wait for events
  const settings = settingsOf({ remote: { url: "https://a.test" }, tables: { people: {} } });
  const { ranges = [] } = world.session;
  const stretches = ranges.reduce((sum, range) => sum + stretchesOf(range).length, 0);
  const size = { rows, stretches, isFollowed: false };
  const { transactionsPerMonth } = estimateOf(settings, new Map([["people", size]]));
  return (counted / (transactionsPerMonth / 30)).toFixed(2);
}
