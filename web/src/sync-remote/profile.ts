// What the services can do, as far as it is known before they are asked (probe.ts).

import type { FreezeLimits } from "../sync/freeze.ts";
import type { RemoteTraits } from "../sync/remote.ts";

export type Service = "azure" | "azurite" | "cosmos" | "entitable" | "unknown";

export interface RemoteProfile {
  readonly service: Service;
  readonly traits: RemoteTraits;
  readonly limits: FreezeLimits & { readonly rowKeyBytes?: number };
  /** Whether an ETag has the entity's Timestamp. */
  readonly isTimestampInETag: boolean;
  /** Whether the headers can be read that continue a query. A page needs permission (CORS). */
  readonly canContinue: boolean;
}

const operationsMax = 100;
const staleReadMs = 5000; // bounded staleness, in one region

export function profileOf(service: Service): RemoteProfile {
  const isCosmos = service === "cosmos";
  const limits = { operations: operationsMax, bytes: 4 * 1024 * 1024 };
  return {
    service,
    traits: {
      hasTimestampFilter: !isCosmos,
      isSorted: !isCosmos,
      staleReadMs: isCosmos ? staleReadMs : 0,
    },
    limits: isCosmos ? { ...limits, bytes: 2_000_000, rowKeyBytes: 255 } : limits,
    isTimestampInETag: true,
    canContinue: true,
  };
}

/** `server`: the header of a response, which only Node can read. */
export function serviceOf(url: string, server: string | null): Service {
  const { hostname } = new URL(url);
  if (/\.table\.cosmos(?:db)?\./.test(hostname)) return "cosmos";
  if (/\.table\.core\./.test(hostname)) return "azure";
  if (/^Microsoft-HTTPAPI/.test(server ?? "")) return "cosmos";
  const [, name] = /^(Azurite|entitable|Windows-Azure-Table)\b/i.exec(server ?? "") ?? [];
  if (name === undefined) return "unknown";
  return name.startsWith("W") ? "azure" : (name.toLowerCase() as Service);
}
