// The explorer on its page: opens a mock store with the same example data on every visit.
import "entitable/explorer";
import { mockStore } from "entitable/testing";

const kinds = ["desk", "floor", "wall"] as const;
const names = ["Arc", "Bow", "Ray", "Dot", "Sun", "Orb", "Fir"] as const;

function lamp(n: number) {
  return {
    partitionKey: kinds[n % 3] as string,
    rowKey: String(n).padStart(4, "0"),
    name: `${names[n % 7]} ${1 + (n % 5)}`,
    stock: (n * 7) % 11,
    price: { type: "Double", value: 20 + (n % 40) * 2.5 } as const,
    sold: BigInt(n) ** 3n,
    since: { type: "DateTime", value: `20${10 + (n % 15)}-0${1 + (n % 9)}-15T08:00:00Z` } as const,
    ...(n % 4 === 0 ? { dimmable: true } : {}),
  };
}

const store = await mockStore({
  fixtures: {
    Lamps: Array.from({ length: 600 }, (_, n) => lamp(n)),
    Orders: [
      { partitionKey: "2026-03", rowKey: "000001", lamp: "0042", pieces: 2 },
      { partitionKey: "2026-03", rowKey: "000002", lamp: "0007", pieces: 1 },
    ],
  },
});
for (const explorer of document.querySelectorAll("table-explorer")) explorer.store = store;
