// Parses connection strings into the constructor arguments of a client. The errors have the
// official client's texts.

import {
  connectionStringOf,
  developmentKey,
  developmentName,
} from "../rest/development-account.ts";
import { AzureNamedKeyCredential } from "./credentials.ts";

export interface UrlAndCredential {
  url: string;
  credential?: AzureNamedKeyCredential;
}

const development = connectionStringOf(
  developmentName,
  developmentKey,
  `http://127.0.0.1:10002/${developmentName}`,
);

export function parseConnectionString(text: string): UrlAndCredential {
  return parse(/usedevelopmentstorage=true/i.test(text) ? development : text);
}

// Returns a value of the connection string by its name, or "". Names are case-insensitive; if a
// name occurs twice, the first counts.
type Values = (name: string) => string;

function parse(text: string): UrlAndCredential {
  const pairs = new Map<string, string>();
  for (const element of text.split(";")) {
    const pair = element.trim();
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(at, 0)).toLowerCase();
    if (at > 0 && !pairs.has(name)) pairs.set(name, pair.slice(at + 1));
  }
  const values: Values = (name) => pairs.get(name.toLowerCase()) ?? "";
  const endpoint = values("TableEndpoint").replace(/\/$/, "");
  return pairs.has("defaultendpointsprotocol") && pairs.has("accountkey")
    ? accountParts(values, endpoint)
    : sasParts(values, endpoint);
}

function accountParts(values: Values, endpoint: string): UrlAndCredential {
  const name = values("AccountName");
  const url = endpoint || defaultEndpoint(values, name);
  require(name, "AccountName", "Connection String");
  const key = values("AccountKey");
  require(key, "AccountKey", "Connection String");
  return { url, credential: new AzureNamedKeyCredential(name, key) };
}

function defaultEndpoint(values: Values, accountName: string): string {
  const protocol = values("DefaultEndpointsProtocol");
  if (!/^https?$/i.test(protocol)) {
    throw new Error(
      "Invalid DefaultEndpointsProtocol in the provided Connection String. Expecting 'https' or 'http'",
    );
  }
  const suffix = values("EndpointSuffix");
  require(suffix, "EndpointSuffix", "Connection String");
  return `${protocol}://${accountName}.table.${suffix}`;
}

function sasParts(values: Values, endpoint: string): UrlAndCredential {
  const account = accountNameOf(endpoint);
  const signature = values("SharedAccessSignature");
  require(endpoint, "TableEndpoint", "SAS Connection String");
  require(signature, "SharedAccessSignature", "SAS Connection String");
  require(account, "AccountName", "SAS Connection String");
  return { url: `${endpoint}?${signature}` };
}

// Returns the account's name in an endpoint. Throws the platform's TypeError if the endpoint is not
// a URL, as the official client does.
function accountNameOf(endpoint: string): string {
  if (endpoint === "") return "";
  const { host, pathname } = new URL(endpoint);
  const [first = "", second] = host.split(".");
  return second === "table" ? first : (pathname.split("/")[1] ?? "");
}

function require(value: string, name: string, where: string): void {
  if (value === "") throw new Error(`Invalid ${name} in the provided ${where}`);
}
