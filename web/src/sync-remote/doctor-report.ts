// The report of `entitable sync doctor` in plain words.

import { corsRule } from "./cors.ts";
import type { Measurements } from "./measure.ts";
import type { Service } from "./profile.ts";
import { sasAdvice } from "./sas-advice.ts";

export interface Examined {
  /** Without its query. */
  readonly url: string;
  /** The shared access signature; "" if there is none. */
  readonly sas: string;
  readonly measurements: Measurements;
}

const services: Readonly<Record<Service, string>> = {
  azure: "Azure Table storage",
  azurite: "Azurite",
  cosmos: "Cosmos DB for Table",
  entitable: "entitable serve",
  unknown: "an unknown service",
};

/** Returns lines. Has no signature. */
export function doctorReport({ url, sas, measurements }: Examined): string[] {
  const { service } = measurements.probe.profile;
  return [
    `${url}: ${services[service]}`,
    ...section("Timestamps", timestampLines(measurements)),
    ...section("Scans", scanLines(measurements)),
    ...section("Batches", batchLines(measurements)),
    ...section("Clock", [clockLine(measurements)]),
    ...section("Pages of other origins", corsLines(measurements)),
    ...section("The account's owner must set", [corsRuleLine(service), ...sasAdvice(sas)]),
  ];
}

const section = (title: string, lines: readonly string[]): string[] => [
  "",
  title,
  ...lines.map((line) => `  ${line}`),
];

const is = (holds: boolean, yes: string, no: string): string => (holds ? yes : no);

function timestampLines({ batch, late, probe, writes }: Measurements): string[] {
  const { profile } = probe;
  return [
    is(
      profile.traits.hasTimestampFilter,
      "A filter by Timestamp works: changes are found by it.",
      "A filter by Timestamp does not work: changes are found by comparing all ETags.",
    ),
    batch.timestamps === 1
      ? "The entities of a batch share one Timestamp."
      : `The 100 entities of a batch have ${batch.timestamps} Timestamps within ${ms(batch.spanMs)}.`,
    `${writes.count} writes of one entity have ${writes.etags} ETags. ${is(
      writes.rising,
      "Their Timestamps rise.",
      "Their Timestamps do not always rise.",
    )}`,
    `An ETag ${is(profile.isTimestampInETag, "has", "does not have")} the entity's Timestamp.`,
    writes.staleReads === 0
      ? "Every read after a write had the new version."
      : `${writes.staleReads} of ${writes.count - 1} reads after a write had an older version.`,
    late.lateEntities === 0
      ? `Of ${late.entities} entities in ${late.scans} scans, none became visible after newer ones.`
      : `Of ${late.entities} entities in ${late.scans} scans, ${late.lateEntities} became visible ` +
        `after newer ones, up to ${ms(late.mostMs)} late. The overlap of scans must be longer.`,
  ];
}

function scanLines({ fullScan, keyScan, probe }: Measurements): string[] {
  const scan = (name: string, { ms: time, pages, rows }: Measurements["keyScan"]) =>
    `${name} of ${rows} entities: ${pages} pages, ${ms(time)}.`;
  return [
    is(
      probe.profile.traits.isSorted,
      "Rows are sorted by their keys.",
      "Rows are not sorted, or it is not known whether they always are.",
    ),
    `A page has up to ${fullScan.pageRows} entities.`,
    scan("A scan of the keys", keyScan),
    scan("A scan with all properties", fullScan),
  ];
}

function batchLines({ batches }: Measurements): string[] {
  const became = (what: string, code: string | undefined) =>
    `A batch ${what} is ${is(code === undefined, "executed", `refused (${code})`)}.`;
  return [
    became("of 100 operations", batches.operations100),
    became("of 101 operations", batches.operations101),
    became(`with ${(batches.bytes / 1e6).toFixed(1)} MB of properties`, batches.large),
  ];
}

function clockLine({ clock }: Measurements): string {
  if (clock === undefined) return "Responses have no date.";
  const { aheadMs, uncertainMs } = clock;
  const by = `${seconds(Math.abs(aheadMs))} (± ${seconds(uncertainMs)})`;
  const than = is(aheadMs < 0, "behind", "ahead of");
  return `The service's clock is ${by} ${than} this machine's.`;
}

function corsLines({ cors }: Measurements): string[] {
  if (cors === undefined) return ["The remote did not answer."];
  const { hidden, origin, push, read } = cors;
  const can = (holds: boolean, what: string) =>
    `A page of ${origin} can${holds ? "" : "not"} ${what}.`;
  return [
    can(read, "read"),
    can(push, "write"),
    ...(hidden.length > 0 ? [`It cannot read these headers: ${hidden.join(", ")}.`] : []),
  ];
}

function corsRuleLine(service: Service): string {
  if (service === "cosmos") return "Cosmos DB has no CORS rules: pages need a proxy.";
  const { allowedHeaders, allowedMethods, exposedHeaders, maxAgeInSeconds } = corsRule;
  return (
    `A CORS rule, if pages sync: the page's origin, methods ${allowedMethods}, allowed headers ` +
    `${allowedHeaders}, exposed headers ${exposedHeaders}, maximum age ${maxAgeInSeconds}.`
  );
}

const ms = (time: number): string => `${Number(time.toPrecision(3))} ms`;

const seconds = (time: number): string => `${(time / 1000).toFixed(1)} s`;
