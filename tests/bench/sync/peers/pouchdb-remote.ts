// express-pouchdb on PouchDB's memory adapter. It serves what PouchDB's replication needs, and does
// not compress: entitable's server does not, either.

import type { RequestListener } from "node:http";
import { documentAt } from "./document.ts";
import type { Remote } from "./remote.ts";

// The parts of the packages that are used.
interface PouchDB {
  new (name: string): Database;
  plugin(adapter: unknown): void;
  defaults(options: { adapter: "memory" }): PouchDB;
}
interface Database {
  bulkDocs(documents: readonly object[]): Promise<unknown>;
  allDocs(options: { include_docs: true }): Promise<{
    rows: readonly { doc: { version: number } }[];
  }>;
}
type ExpressPouchDB = (pouchdb: PouchDB, options: object) => RequestListener;

const load = async <T>(name: string) => ((await import(name)) as { default: T }).default;
const groupRows = 100;
const options = { mode: "minimumForPouchDB", overrideMode: { exclude: ["compression"] } };

export async function pouchdbRemote(): Promise<Remote> {
  const core = await load<PouchDB>("pouchdb-core");
  core.plugin(await load("pouchdb-adapter-memory"));
  const Memory = core.defaults({ adapter: "memory" });
  const serve = (await load<ExpressPouchDB>("express-pouchdb"))(Memory, options);
  const database = new Memory("rows");
  return {
    path: "/rows",
    answer: serve,
    isPush: (path) => path.startsWith("/rows/_bulk_docs"),
    async load(documents) {
      for (let first = 0; first < documents; first += groupRows) {
        const length = Math.min(groupRows, documents - first);
        const group = Array.from({ length }, (_, k) => documentAt(first + k));
        await database.bulkDocs(group.map(({ id, ...rest }) => ({ _id: id, ...rest })));
      }
    },
    async count(version) {
      const { rows } = await database.allDocs({ include_docs: true });
      return rows.filter(({ doc }) => doc.version === version).length;
    },
  };
}
