// An in-memory log that does not fence previous owners, for tests that must detect the lost writes.

import {
  type LogStorage,
  manifestName,
  numberFromName,
  partName,
  segmentName,
} from "../../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../../web/src/storage/memory.ts";

export function unfencedStorage(files: Map<string, Uint8Array>): LogStorage {
  const inner = new MemoryStorage(files);
  const set = async (name: string, bytes: Uint8Array) => void files.set(name, bytes.slice());
  return {
    load: (reader) => inner.load(reader),
    readParts: (ids, part) => inner.readParts(ids, part),
    readSegments: (first, segment) => inner.readSegments(first, segment),
    readWhileInUse: (reader) => inner.readWhileInUse(reader),
    claim: (sequence, bytes) => set(segmentName(sequence), bytes),
    async addSegments(sequence, segments) {
      for (const [i, bytes] of segments.entries()) await set(segmentName(sequence + i), bytes);
    },
    putPart: (id, bytes) => set(partName(id), bytes),
    async commitManifest(bytes, { segmentsBelow, historyFrom = segmentsBelow, obsoleteParts }) {
      await set(manifestName, bytes);
      for (const id of obsoleteParts) files.delete(partName(id));
      for (const name of [...files.keys()]) {
        if ((numberFromName("wal-", name) ?? historyFrom) < historyFrom) files.delete(name);
      }
    },
    async deleteParts(ids) {
      for (const id of ids) files.delete(partName(id));
    },
    deleteLog: () => inner.deleteLog(),
    close: () => inner.close(),
  };
}
