// The rows of the comparison as the peers store them: JSON documents with one key.

import { type JsonEntity, toJson } from "../../peers/json-entity.ts";
import { entityAt } from "../../peers/workload.ts";

export interface Document extends JsonEntity {
  readonly id: string;
}

export const documentId = (i: number): string => {
  const { partitionKey, rowKey } = entityAt(i);
  return `${partitionKey}|${rowKey}`;
};

export const documentAt = (i: number): Document => ({
  id: documentId(i),
  ...toJson(entityAt(i)),
});
