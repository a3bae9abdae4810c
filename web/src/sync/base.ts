// The Base of a key: the version that its pending operations build on.

import type { Base, LocalRow, RemoteRow, Version } from "./hidden-tables.ts";
import type { Properties } from "./properties.ts";

export const baseOf = (row: RemoteRow | undefined): Base =>
  row === undefined ? { kind: "absent" } : { kind: "row", row };

export const outdatedBase = (properties: Properties | undefined): Base => ({
  kind: "outdated",
  properties,
});

/** The Base of a clean key that becomes dirty, by its row before the write. */
export const baseOfLocalRow = (row: LocalRow | undefined): Base =>
  baseOf(row && { properties: row.properties, ...(row.version as Version) });

export function baseProperties(base: Base): Properties | undefined {
  if (base.kind === "absent") return undefined;
  return base.kind === "row" ? base.row.properties : base.properties;
}

/** Returns whether the remote still has the version, as far as ETags tell. */
export function isAtBase(base: Base, remote: RemoteRow | undefined): boolean {
  if (base.kind === "absent") return remote === undefined;
  return base.kind === "row" && base.row.etag === remote?.etag;
}
