// Requests to the service itself, and requests that match no operation.

import type { Step } from "./request.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { commonHeaders, entityPath, makeStep } from "./steps.ts";

type Made = Partial<Step> & Pick<Step, "method" | "target">;

function scenario(
  operation: string,
  code: string,
  parts: (random: SeededRandom) => Made,
  ...tags: string[]
): Scenario {
  const make = (_: unknown, random: SeededRandom) => {
    const made = parts(random);
    // A browser's preflight request does not have the service's headers.
    const common = made.method === "OPTIONS" ? [] : commonHeaders(random);
    const own = made.headers ?? [];
    const headers = [...common.filter(([name]) => !own.some(([other]) => other === name)), ...own];
    return makeStep({ operation, tags: new Set(tags), ...made, headers });
  };
  return { operation, type: "-", code, make };
}

// ---- Properties ---------------------------------------------------------------------------------

const retention = "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>";
const unlimited = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";
const logging = (read: boolean) =>
  `<Logging><Version>1.0</Version><Delete>true</Delete><Read>${read}</Read><Write>true</Write>${retention}</Logging>`;
const metrics = (name: string, on: boolean) =>
  on
    ? `<${name}><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>${retention}</${name}>`
    : `<${name}><Version>1.0</Version><Enabled>false</Enabled>${unlimited}</${name}>`;
const rule = (origins: string, methods: string) =>
  `<CorsRule><AllowedOrigins>${origins}</AllowedOrigins><AllowedMethods>${methods}</AllowedMethods><AllowedHeaders>x-ms-*</AllowedHeaders><ExposedHeaders>x-ms-*</ExposedHeaders><MaxAgeInSeconds>200</MaxAgeInSeconds></CorsRule>`;
const document = (...sections: readonly string[]) =>
  `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>${sections.join("")}</StorageServiceProperties>`;

const rules = `<Cors>${rule("https://a.example", "GET,PUT")}${rule("https://b.example", "POST")}</Cors>`;

// A document with all sections. After it is stored, both backends have equal properties.
export const knownProperties = document(
  logging(false),
  metrics("HourMetrics", false),
  metrics("MinuteMetrics", false),
  rules,
);

function setProperties(
  code: string,
  body: (random: SeededRandom) => string,
  ...tags: string[]
): Scenario {
  return scenario("set properties", code, (random) => setting(body(random)), ...tags);
}

const setting = (body: string): Made => ({
  method: "PUT",
  target: "/?restype=service&comp=properties",
  headers: [["Content-Type", "application/xml"]],
  body,
  writes: true,
});

export const resetProperties = (random: SeededRandom): Step =>
  makeStep({
    operation: "set properties",
    ...setting(knownProperties),
    headers: [...commonHeaders(random), ["Content-Type", "application/xml"]],
  });

const anyProperties = (random: SeededRandom) =>
  document(
    logging(random.oneIn(2)),
    metrics("HourMetrics", random.oneIn(2)),
    metrics("MinuteMetrics", random.oneIn(2)),
    rules,
  );

// ---- Preflight ----------------------------------------------------------------------------------

function preflight(
  code: string,
  origin: string,
  method: string,
  headers: string | undefined,
  ...tags: string[]
): Scenario {
  return scenario(
    "preflight",
    code,
    () => ({
      method: "OPTIONS",
      target: "/anything",
      headers: [
        ["Origin", origin],
        ["Access-Control-Request-Method", method],
        ...(headers === undefined ? [] : ([["Access-Control-Request-Headers", headers]] as const)),
      ],
    }),
    ...tags,
  );
}

// ---- Routing ------------------------------------------------------------------------------------

const entity = entityPath("noSuchTable", { pk: "p", rk: "r" });
const routed = (code: string, method: string, target: string, ...tags: string[]) =>
  scenario("routing", code, () => ({ method, target }), "routing", ...tags);
const tunnelled = (code: string, method: string, value: string) =>
  scenario(
    "routing",
    code,
    () => ({ method, target: entity, headers: [["X-HTTP-Method", value]] }),
    "override",
  );

export const serviceScenarios: readonly Scenario[] = [
  scenario(
    "create table",
    "InsufficientAccountPermissions",
    () => ({
      method: "POST",
      target: "-secondary/Tables",
      headers: [["Content-Type", "application/json"]],
      body: '{"TableName":"secondary"}',
      tables: ["secondary"],
      writes: true,
    }),
    "secondary write",
  ),
  scenario(
    "query tables",
    "ok",
    () => ({ method: "GET", target: "-secondary/Tables" }),
    "secondary read",
  ),
  scenario(
    "routing",
    "XMethodIncorrectCount",
    () => ({
      method: "POST",
      target: entity,
      headers: [
        ["X-HTTP-Method", "MERGE"],
        ["X-HTTP-Method", "PATCH"],
      ],
    }),
    "override",
  ),
  ...Array.from({ length: 3 }, () =>
    scenario("get properties", "ok", () => ({
      method: "GET",
      target: "/?restype=service&comp=properties",
    })),
  ),
  ...Array.from({ length: 3 }, () => setProperties("ok", anyProperties)),
  setProperties("ok", (random) => document(logging(random.oneIn(2))), "some sections"),
  setProperties("InvalidXmlDocument", (random) => random.pick(["<Storage", "nonsense"]), "no XML"),
  setProperties(
    "InvalidXmlDocument",
    () => document(`<Cors>${rule("https://a.example", "GET").repeat(6)}</Cors>`),
    "many rules",
  ),
  setProperties(
    "InvalidXmlNodeValue",
    () =>
      document(
        "<Logging><Version>1.0</Version><Delete>maybe</Delete><Read>true</Read><Write>true</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>",
      ),
    "bad node",
  ),
  scenario("get stats", "ok", () => ({
    method: "GET",
    target: "-secondary/?restype=service&comp=stats",
  })),
  scenario(
    "get stats",
    "InvalidQueryParameterValue",
    () => ({ method: "GET", target: "/?restype=service&comp=stats" }),
    "primary stats",
  ),
  preflight("ok", "https://a.example", "GET", undefined),
  preflight("ok", "https://a.example", "PUT", "x-ms-version,x-ms-date"),
  preflight("ok", "https://b.example", "POST", "x-ms-version"),
  preflight("CorsPreflightFailure", "https://a.example", "DELETE", undefined),
  preflight("CorsPreflightFailure", "https://c.example", "GET", undefined),
  preflight("CorsPreflightFailure", "https://b.example", "POST", "authorization"),
  scenario(
    "query tables",
    "ok",
    (random) => ({
      method: "GET",
      target: "/Tables",
      headers: [["Origin", random.pick(["https://a.example", "https://c.example"])]],
    }),
    "origin",
  ),
  routed("MethodNotAllowed", "DELETE", "/noSuchTable", "wrong verb"),
  routed("MethodNotAllowed", "PUT", "/Tables", "wrong verb"),
  routed("InvalidUri", "GET", "/a/b/c", "no resource"),
  routed("InvalidInput", "GET", "/noSuchTable(PartitionKey='p')", "half a key"),
  routed("InvalidInput", "GET", "/noSuchTable('p')", "half a key"),
  tunnelled("XMethodIncorrectValue", "POST", "GET"),
  tunnelled("XMethodNotUsingPost", "PUT", "MERGE"),
  scenario(
    "routing",
    "InvalidHeaderValue",
    () => ({ method: "GET", target: "/Tables", headers: [["x-ms-version", "yesterday"]] }),
    "bad version",
  ),
  scenario(
    "query tables",
    "JsonVerboseFormatNotSupported",
    () => ({
      method: "GET",
      target: `/Tables?$format=${encodeURIComponent("application/json;odata=verbose")}`,
    }),
    "format",
  ),
  scenario(
    "query tables",
    "AtomFormatNotSupported",
    () => ({ method: "GET", target: "/Tables?$format=application%2Fatom%2Bxml" }),
    "format",
  ),
  scenario(
    "query tables",
    "MediaTypeNotSupported",
    () => ({ method: "GET", target: "/Tables?$format=image%2Fpng" }),
    "format",
  ),
  scenario(
    "query tables",
    "AuthenticationFailed",
    () => ({
      method: "GET",
      target: "/Tables",
      headers: [
        ["Authorization", "SharedKeyLite devstoreaccount1:d3Jvbmc="],
        ["x-ms-date", new Date(0).toUTCString()],
      ],
    }),
    "wrong signature",
  ),
  scenario(
    "query tables",
    "AuthenticationFailed",
    () => ({ method: "GET", target: "/Tables" }),
    "unsigned",
  ),
  scenario(
    "query tables",
    "InvalidAuthenticationInfo",
    () => ({ method: "GET", target: "/Tables", headers: [["Authorization", "nonsense"]] }),
    "malformed authorization",
  ),
];
