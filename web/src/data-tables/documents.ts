// Access policies, properties and statistics to and from the service's XML documents.

import type {
  AccessPolicy,
  CorsRule,
  Logging,
  Metrics,
  RetentionPolicy,
  ServiceProperties,
  SignedIdentifier,
  TableServiceStats,
} from "./types.ts";
import { childOf, childrenOf, element, textElement, textOf, without } from "./xml.ts";

// ---- Access policies ----------------------------------------------------------------------------------------------

export function writeAccessPolicies(identifiers: readonly SignedIdentifier[]): string {
  const elements = identifiers.map(({ id, accessPolicy }) =>
    element(
      "SignedIdentifier",
      textElement("Id", id),
      element(
        "AccessPolicy",
        textElement("Start", dateText(accessPolicy?.start)),
        textElement("Expiry", dateText(accessPolicy?.expiry)),
        textElement("Permission", accessPolicy?.permission),
      ),
    ),
  );
  return element("SignedIdentifiers", ...elements);
}

export function readAccessPolicies(xml: string): SignedIdentifier[] {
  return childrenOf(xml, "SignedIdentifier").map((identifier) => {
    const accessPolicy: AccessPolicy = {};
    const start = textOf(identifier, "Start");
    const expiry = textOf(identifier, "Expiry");
    const permission = textOf(identifier, "Permission");
    if (start !== undefined) accessPolicy.start = new Date(start);
    if (expiry !== undefined) accessPolicy.expiry = new Date(expiry);
    if (permission !== undefined) accessPolicy.permission = permission;
    return { id: textOf(identifier, "Id") ?? "", accessPolicy };
  });
}

// Seconds, as officially.
function dateText(date: Date | undefined): string | undefined {
  return date ? `${date.toISOString().slice(0, -5)}Z` : undefined;
}

// ---- Properties ---------------------------------------------------------------------------------------------------

// A section that is left out keeps what it is.
export function writeProperties(properties: ServiceProperties): string {
  const { logging, hourMetrics, minuteMetrics, cors } = properties;
  return element(
    "StorageServiceProperties",
    logging ? writeLogging(logging) : "",
    hourMetrics ? writeMetrics("HourMetrics", hourMetrics) : "",
    minuteMetrics ? writeMetrics("MinuteMetrics", minuteMetrics) : "",
    cors ? element("Cors", ...cors.map(writeCorsRule)) : "",
  );
}

function writeLogging({ version, read, write, delete: remove, retentionPolicy }: Logging): string {
  return element(
    "Logging",
    textElement("Version", version),
    textElement("Delete", remove),
    textElement("Read", read),
    textElement("Write", write),
    writeRetention(retentionPolicy),
  );
}

function writeMetrics(name: string, metrics: Metrics): string {
  return element(
    name,
    textElement("Version", metrics.version),
    textElement("Enabled", metrics.enabled),
    textElement("IncludeAPIs", metrics.includeAPIs),
    writeRetention(metrics.retentionPolicy),
  );
}

function writeRetention(policy: RetentionPolicy | undefined): string {
  if (!policy) return "";
  return element(
    "RetentionPolicy",
    textElement("Enabled", policy.enabled),
    textElement("Days", policy.days),
  );
}

function writeCorsRule(rule: CorsRule): string {
  return element(
    "CorsRule",
    textElement("AllowedOrigins", rule.allowedOrigins),
    textElement("AllowedMethods", rule.allowedMethods),
    textElement("AllowedHeaders", rule.allowedHeaders),
    textElement("ExposedHeaders", rule.exposedHeaders),
    textElement("MaxAgeInSeconds", rule.maxAgeInSeconds),
  );
}

export function readProperties(xml: string): ServiceProperties {
  return {
    logging: readLogging(childOf(xml, "Logging") ?? ""),
    hourMetrics: readMetrics(childOf(xml, "HourMetrics") ?? ""),
    minuteMetrics: readMetrics(childOf(xml, "MinuteMetrics") ?? ""),
    cors: childrenOf(xml, "CorsRule").map(readCorsRule),
  };
}

function readLogging(section: string): Logging {
  return {
    version: textOf(section, "Version") ?? "",
    delete: isTrue(section, "Delete"),
    read: isTrue(section, "Read"),
    write: isTrue(section, "Write"),
    retentionPolicy: readRetention(section),
  };
}

function readMetrics(section: string): Metrics {
  const own = without(section, "RetentionPolicy"); // which has an Enabled too
  const version = textOf(own, "Version");
  return {
    ...(version === undefined ? {} : { version }),
    enabled: isTrue(own, "Enabled"),
    ...(childOf(own, "IncludeAPIs") === undefined
      ? {}
      : { includeAPIs: isTrue(own, "IncludeAPIs") }),
    retentionPolicy: readRetention(section),
  };
}

function readRetention(section: string): RetentionPolicy {
  const policy = childOf(section, "RetentionPolicy") ?? "";
  const days = textOf(policy, "Days");
  return {
    enabled: isTrue(policy, "Enabled"),
    ...(days === undefined ? {} : { days: Number(days) }),
  };
}

function readCorsRule(rule: string): CorsRule {
  return {
    allowedOrigins: textOf(rule, "AllowedOrigins") ?? "",
    allowedMethods: textOf(rule, "AllowedMethods") ?? "",
    allowedHeaders: textOf(rule, "AllowedHeaders") ?? "",
    exposedHeaders: textOf(rule, "ExposedHeaders") ?? "",
    maxAgeInSeconds: Number(textOf(rule, "MaxAgeInSeconds")),
  };
}

function isTrue(section: string, name: string): boolean {
  return textOf(section, name) === "true";
}

// ---- Statistics ---------------------------------------------------------------------------------------------------

export function readStatistics(xml: string): TableServiceStats {
  const status = textOf(xml, "Status") ?? "";
  const lastSyncTime = new Date(textOf(xml, "LastSyncTime") ?? "");
  return { geoReplication: { status, lastSyncTime } };
}
