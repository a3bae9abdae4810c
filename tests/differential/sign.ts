// Signs requests by Shared Key Lite, for the well-known account of the emulators.

import { createHmac } from "node:crypto";

export const account = "devstoreaccount1";
export const key =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

export function hmac(text: string): string {
  return createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
}

// Returns the headers that sign a request to `url`.
export function signed(url: string, date = new Date()): [string, string][] {
  const { pathname, searchParams } = new URL(url);
  const comp = searchParams.get("comp");
  const resource = `/${account}${pathname}${comp === null ? "" : `?comp=${comp}`}`;
  const stamp = date.toUTCString();
  const signature = hmac(`${stamp}\n${resource}`);
  return [
    ["x-ms-date", stamp],
    ["Authorization", `SharedKeyLite ${account}:${signature}`],
  ];
}
