// Simulates how the service distributes a table over servers: it moves and splits ranges of
// partitions under load. pages/servers.md documents the model. The model is our own, based on the
// service's published targets; it is not the service's algorithm.

export interface Model {
  readonly servers: number;
  /** Entities a second. */
  readonly partitionLimit: number;
  /** Requests a second, whatever number of entities each contains. */
  readonly accountLimit: number;
  /** Entities a second. */
  readonly serverLimit: number;
  /** Seconds between two runs of the balancer. */
  readonly balanceEvery: number;
  /** The balancer relieves a server whose load exceeds this fraction of its limit. */
  readonly busy: number;
}

export const model: Model = {
  servers: 5,
  partitionLimit: 2000,
  accountLimit: 20_000,
  serverLimit: 4000,
  balanceEvery: 3,
  busy: 0.7,
};

/** A request to one partition, with its number of entities. */
export interface PartitionRequest {
  readonly partition: string;
  readonly entities: number;
}

export type ThrottleReason = "account" | "partition" | "server" | "moving";

export interface Second {
  /** Number of requests, by server. */
  readonly served: readonly number[];
  /** Number of entities in these requests, by server. */
  readonly entities: readonly number[];
  /** Number of rejected requests, by reason. */
  readonly throttled: Readonly<Record<ThrottleReason, number>>;
  /** The actions of the balancer at the end of the second. */
  readonly events: readonly string[];
}

/** The partitions from the key `from` up to, but excluding, the start of the next range. */
export interface Range {
  readonly from: string;
  readonly server: number;
  /** The range rejects all requests before this second. */
  readonly movingUntil: number;
}

export interface Simulation {
  readonly seconds: readonly Second[];
  /** The ranges at the end, in key order. */
  readonly ranges: readonly Range[];
}

/**
 * Simulates a new table on one server that receives `rate` requests a second. The requests are
 * those of `run`, in order, repeated from the start.
 */
export function simulate(
  run: readonly PartitionRequest[],
  rate: number,
  seconds: number,
): Simulation {
  let ranges: readonly Range[] = [{ from: "", server: 0, movingUntil: 0 }];
  const history: Second[] = [];
  for (let second = 0; second < seconds && run.length > 0; second += 1) {
    const arriving = Array.from(
      { length: rate },
      (_, i) => run[(second * rate + i) % run.length] as PartitionRequest,
    );
    const { served, entities, throttled, offered } = serve(arriving, ranges, second);
    const events: string[] = [];
    if ((second + 1) % model.balanceEvery === 0) {
      ranges = balance(ranges, offered, second + 1, events);
    }
    history.push({ served, entities, throttled, events });
  }
  return { seconds: history, ranges };
}

// ---- A second -----------------------------------------------------------------------------------

interface ServedSecond {
  served: number[];
  entities: number[];
  throttled: Record<ThrottleReason, number>;
  /** Number of entities requested from each partition, including rejected requests. */
  offered: Map<string, number>;
}

interface Partition {
  readonly home: Range;
  /** Entities. */
  offered: number;
  served: number;
}

function serve(
  arriving: readonly PartitionRequest[],
  ranges: readonly Range[],
  second: number,
): ServedSecond {
  const served = Array<number>(model.servers).fill(0);
  const entities = Array<number>(model.servers).fill(0);
  const throttled = { account: 0, partition: 0, server: 0, moving: 0 };
  const partitions = new Map<string, Partition>();
  let accepted = 0;
  for (const work of arriving) {
    const partition = partitions.get(work.partition) ?? {
      home: rangeOf(ranges, work.partition),
      offered: 0,
      served: 0,
    };
    partitions.set(work.partition, partition);
    partition.offered += work.entities;
    const { server, movingUntil } = partition.home;
    const here = entities[server] as number;
    if (accepted >= model.accountLimit) throttled.account += 1;
    else if (second < movingUntil) throttled.moving += 1;
    else if (partition.served + work.entities > model.partitionLimit) throttled.partition += 1;
    else if (here + work.entities > model.serverLimit) throttled.server += 1;
    else {
      served[server] = (served[server] as number) + 1;
      entities[server] = here + work.entities;
      partition.served += work.entities;
      accepted += 1;
    }
  }
  const offered = new Map([...partitions].map(([key, partition]) => [key, partition.offered]));
  return { served, entities, throttled, offered };
}

function rangeOf(ranges: readonly Range[], partition: string): Range {
  return ranges.findLast(({ from }) => from <= partition) as Range;
}

// ---- Balancing ----------------------------------------------------------------------------------

// Relieves the busiest server once: moves one of its ranges to the least busy server. If no range
// fits, splits one of its ranges and moves the upper half.
function balance(
  ranges: readonly Range[],
  offered: ReadonlyMap<string, number>,
  second: number,
  events: string[],
): readonly Range[] {
  const loads = new Map(ranges.map((range) => [range, 0]));
  for (const [partition, asked] of offered) {
    const range = rangeOf(ranges, partition);
    loads.set(range, (loads.get(range) ?? 0) + asked);
  }
  const servers = Array<number>(model.servers).fill(0);
  for (const [range, load] of loads) servers[range.server] = (servers[range.server] ?? 0) + load;
  const most = Math.max(...servers);
  const busiest = servers.indexOf(most);
  const idlest = servers.indexOf(Math.min(...servers));
  if (most <= model.busy * model.serverLimit || busiest === idlest) return ranges;

  const candidates = ranges
    .filter(({ server }) => server === busiest)
    .sort((a, b) => (loads.get(b) ?? 0) - (loads.get(a) ?? 0));
  const idle = servers[idlest] as number;
  const fitting = candidates.find((range) => {
    const load = loads.get(range) ?? 0;
    return load > 0 && load < most && idle + load < most;
  });
  if (fitting !== undefined) {
    events.push(`the range from “${fitting.from}” moves to server ${idlest + 1}`);
    const moved = { ...fitting, server: idlest, movingUntil: second + 1 };
    return ranges.map((range) => (range === fitting ? moved : range));
  }
  for (const range of candidates) {
    const at = middleOf(range, ranges, offered);
    if (at === undefined) continue;
    events.push(`a range is split at “${at}”; the upper half moves to server ${idlest + 1}`);
    const upper = { from: at, server: idlest, movingUntil: second + 1 };
    return ranges.flatMap((one) => (one === range ? [range, upper] : [one]));
  }
  events.push("one partition is too busy, but a partition can't be split");
  return ranges;
}

// Returns the partition at which the upper half of a range's load starts, or undefined if one
// partition has all the load.
function middleOf(
  range: Range,
  ranges: readonly Range[],
  offered: ReadonlyMap<string, number>,
): string | undefined {
  const own = [...offered].filter(([partition]) => rangeOf(ranges, partition) === range);
  own.sort(([a], [b]) => (a < b ? -1 : 1));
  const total = own.reduce((sum, [, asked]) => sum + asked, 0);
  let below = 0;
  for (const [index, [partition, asked]] of own.entries()) {
    if (index > 0 && (below >= total / 2 || index === own.length - 1)) return partition;
    below += asked;
  }
  return undefined;
}
