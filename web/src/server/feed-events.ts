// The change feed as server-sent events (WHATWG HTML, "Server-sent events"). An event's id is a
// sequence of the feed, after which a client continues.

import type { StoreError } from "../errors.ts";
import { entityToJson } from "../transfer/json-entity.ts";
import type { Change, ChangeBatch } from "../types.ts";

export const retryMs = 1000; // how long clients wait before they connect again

// What the response begins with.
export function firstLines(position: bigint | undefined): string {
  return `retry: ${retryMs}\n${heartbeat(position)}`;
}

// Lines that are no event, but tell the client where to continue.
export function heartbeat(position: bigint | undefined): string {
  return position === undefined ? ":\n\n" : `:\nid: ${position}\n\n`;
}

// What the store had when it was asked for the feed: the sequence of its newest commit. `store`: a
// text that no other store has, and that changes when the server is started again.
export interface FeedHead {
  readonly sequence: bigint;
  readonly store: string;
}

// The first event, if the client wants it.
export function headEvent({ sequence, store }: FeedHead): string {
  return `event: head\ndata: ${JSON.stringify({ sequence: String(sequence), store })}\n\n`;
}

// The event of a batch, whose properties have their text and type. Entities have the service's JSON
// with minimal metadata.
export function batchEvent({ sequence, at, origin, changes, tables }: ChangeBatch): string {
  const members = [
    `"sequence":"${sequence}"`,
    `"at":${JSON.stringify(at)}`,
    `"origin":"${origin}"`,
    `"changes":[${changes.map(changeJson).join(",")}]`,
  ];
  if (tables !== undefined) members.push(`"tables":${JSON.stringify(tables)}`);
  return `id: ${sequence}\ndata: {${members.join(",")}}\n\n`;
}

function changeJson({ after, before, table, partitionKey, rowKey, op }: Change): string {
  let json = JSON.stringify({ table, partitionKey, rowKey, op }).slice(0, -1);
  if (after !== undefined) json += `,"after":${entityJson(after)}`;
  if (before !== undefined) json += `,"before":${entityJson(before)}`;
  return `${json}}`;
}

function entityJson(entity: NonNullable<Change["after"]>): string {
  return `{"odata.etag":${JSON.stringify(entity.etag)},${entityToJson(entity, true).slice(1)}`;
}

// The event for FeedTruncated. Its id makes a client that connects again continue with what the log
// still has.
export function truncatedEvent({ code, message, firstSequence = 1n }: StoreError): string {
  const hint = "Read the tables again. The feed continues with firstSequence.";
  const first = firstSequence > 0n ? firstSequence : 1n;
  const data = JSON.stringify({ code, message, hint, firstSequence: String(first) });
  return `event: truncated\nid: ${first - 1n}\ndata: ${data}\n\n`;
}
