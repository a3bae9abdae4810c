// The least that RxDB's handlers need of a server, in memory: GET /pull returns the documents that
// changed after a checkpoint, and POST /push writes documents, if they are not in conflict.
// TanStack pushes to the same endpoint.

import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { type Document, documentAt } from "./document.ts";
import type { Remote } from "./remote.ts";

/** `_deleted`: RxDB wants it in each document. */
type Pulled = Document & { readonly _deleted: false };

/** The number of the last write that was pulled. */
export interface Checkpoint {
  readonly sequence: number;
}

export interface Page {
  readonly documents: readonly Pulled[];
  readonly checkpoint: Checkpoint;
}

export interface Pushed {
  readonly newDocumentState: Document;
  readonly assumedMasterState?: Document;
}

export function jsonRemote(): Remote {
  const store = new DocumentStore();
  return {
    path: "",
    isPush: (path) => path === "/push",
    async answer(request, response) {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://remote");
      const number = (name: string) => Number(searchParams.get(name));
      if (pathname === "/pull") send(response, store.pull(number("after"), number("limit")));
      else send(response, store.push(await read(request)));
    },
    async load(documents) {
      for (let i = 0; i < documents; ++i) store.put(documentAt(i));
    },
    count: async (version) => store.count(version),
  };
}

class DocumentStore {
  readonly #documents = new Map<string, { document: Pulled; sequence: number }>();
  readonly #writes: string[] = []; // the document's id of each write

  put(document: Document): void {
    const sequence = this.#writes.push(document.id);
    this.#documents.set(document.id, { document: { ...document, _deleted: false }, sequence });
  }

  pull(after: number, limit: number): Page {
    const documents: Pulled[] = [];
    let sequence = after;
    while (sequence < this.#writes.length && documents.length < limit) {
      const found = this.#documents.get(this.#writes[sequence] as string);
      sequence += 1;
      if (found?.sequence === sequence) documents.push(found.document);
    }
    return { documents, checkpoint: { sequence } };
  }

  /** Returns the documents that are not as the client assumed. They are not written. */
  push(rows: readonly Pushed[]): Pulled[] {
    const conflicts: Pulled[] = [];
    for (const { newDocumentState, assumedMasterState } of rows) {
      const { document } = this.#documents.get(newDocumentState.id) ?? {};
      if (document?.version === assumedMasterState?.version) this.put(newDocumentState);
      else if (document !== undefined) conflicts.push(document);
    }
    return conflicts;
  }

  count(version: number): number {
    const documents = [...this.#documents.values()];
    return documents.filter(({ document }) => document.version === version).length;
  }
}

const read = async (request: IncomingMessage) => (await json(request)) as readonly Pushed[];

function send(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}
