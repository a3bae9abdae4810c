// The data and its table design. The keys determine which queries are fast:
//
//   PartitionKey  the country: one country is one partition, so one transaction can change it
//   RowKey        9,999,999,999 minus the population, in ten digits, then the city's id: the cities
//                 of a country sort from largest to smallest, and "over a million" is a row key
//                 range
import type { Store, Table, TableAction } from "entitable";

export interface City {
  name: string;
  altName: string;
  adminCode: string;
  featureCode: string;
  population: number;
  longitude: number;
  latitude: number;
  cityId: number;
}

type Row = [number, string, string, string, string, string, number, number, number];

const transactionSize = 100;

export const cityTable = "cities";

export function cityTableHandle(store: Store): Table<City> {
  // Coordinates are always Doubles, even if their values are integers.
  return store.table<City>(cityTable, { types: { longitude: "Double", latitude: "Double" } });
}

export function rowKeyOf(population: number, cityId: number): string {
  return `${String(9_999_999_999 - population).padStart(10, "0")}-${cityId}`;
}

function action(row: Row): TableAction<City> {
  const [cityId, name, altName, country, featureCode, adminCode, population, longitude, latitude] =
    row;
  return [
    "upsert",
    {
      partitionKey: country,
      rowKey: rowKeyOf(population, cityId),
      name,
      ...(altName ? { altName } : {}),
      adminCode,
      featureCode,
      population,
      longitude: { type: "Double", value: longitude },
      latitude: { type: "Double", value: latitude },
      cityId,
    },
    "Replace",
  ];
}

export interface Batches {
  cities: number;
  batches: TableAction<City>[][];
}

// Groups the cities into entity group transactions of at most 100, each within one country.
export async function fetchBatches(signal?: AbortSignal): Promise<Batches> {
  const response = await fetch(new URL("../cities.json", document.baseURI), {
    signal: signal ?? null,
  });
  if (!response.ok) throw new Error(`cities.json: ${response.status} ${response.statusText}`);
  const rows = (await response.json()) as Row[];
  const batches: TableAction<City>[][] = [];
  let country = "";
  for (const row of rows) {
    const open = batches.at(-1);
    if (open === undefined || row[3] !== country || open.length === transactionSize) {
      batches.push([action(row)]);
      country = row[3];
    } else {
      open.push(action(row));
    }
  }
  return { cities: rows.length, batches };
}
