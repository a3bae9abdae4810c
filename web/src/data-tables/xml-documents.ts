// Converts access policies, service properties and statistics to and from the service's XML
// documents.

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
import {
  childOf,
  childrenOf,
  childText,
  parseXml,
  serializeElement,
  serializeTextElement,
  type XmlElement,
} from "./xml.ts";

// ---- Access policies -------------------------------------------------------------------------

export function serializeAccessPolicies(identifiers: readonly SignedIdentifier[]): string {
  const elements = identifiers.map(({ id, accessPolicy }) =>
    serializeElement(
      "SignedIdentifier",
      serializeTextElement("Id", id),
      serializeElement(
        "AccessPolicy",
        serializeTextElement("Start", dateText(accessPolicy?.start)),
        serializeTextElement("Expiry", dateText(accessPolicy?.expiry)),
        serializeTextElement("Permission", accessPolicy?.permission),
      ),
    ),
  );
  return serializeElement("SignedIdentifiers", ...elements);
}

export function parseAccessPolicies(xml: string): SignedIdentifier[] {
  const root = childOf(parseXml(xml), "SignedIdentifiers");
  return childrenOf(root, "SignedIdentifier").map((identifier) => {
    const accessPolicy: AccessPolicy = {};
    const policy = childOf(identifier, "AccessPolicy");
    const start = childText(policy, "Start");
    const expiry = childText(policy, "Expiry");
    const permission = childText(policy, "Permission");
    if (start !== undefined) accessPolicy.start = new Date(start);
    if (expiry !== undefined) accessPolicy.expiry = new Date(expiry);
    if (permission !== undefined) accessPolicy.permission = permission;
    return { id: childText(identifier, "Id") ?? "", accessPolicy };
  });
}

// Formats a date with a resolution of one second, as the official client does.
function dateText(date: Date | undefined): string | undefined {
  return date ? `${date.toISOString().slice(0, -5)}Z` : undefined;
}

// ---- Properties ------------------------------------------------------------------------------

// Omits missing sections, which the service then leaves unchanged.
export function serializeServiceProperties(properties: ServiceProperties): string {
  const { logging, hourMetrics, minuteMetrics, cors } = properties;
  return serializeElement(
    "StorageServiceProperties",
    logging ? serializeLogging(logging) : "",
    hourMetrics ? serializeMetrics("HourMetrics", hourMetrics) : "",
    minuteMetrics ? serializeMetrics("MinuteMetrics", minuteMetrics) : "",
    cors ? serializeElement("Cors", ...cors.map(serializeCorsRule)) : "",
  );
}

function serializeLogging({
  version,
  read,
  write,
  delete: remove,
  retentionPolicy,
}: Logging): string {
  return serializeElement(
    "Logging",
    serializeTextElement("Version", version),
    serializeTextElement("Delete", remove),
    serializeTextElement("Read", read),
    serializeTextElement("Write", write),
    serializeRetention(retentionPolicy),
  );
}

function serializeMetrics(name: string, metrics: Metrics): string {
  return serializeElement(
    name,
    serializeTextElement("Version", metrics.version),
    serializeTextElement("Enabled", metrics.enabled),
    serializeTextElement("IncludeAPIs", metrics.includeAPIs),
    serializeRetention(metrics.retentionPolicy),
  );
}

function serializeRetention(policy: RetentionPolicy | undefined): string {
  if (!policy) return "";
  return serializeElement(
    "RetentionPolicy",
    serializeTextElement("Enabled", policy.enabled),
    serializeTextElement("Days", policy.days),
  );
}

function serializeCorsRule(rule: CorsRule): string {
  return serializeElement(
    "CorsRule",
    serializeTextElement("AllowedOrigins", rule.allowedOrigins),
    serializeTextElement("AllowedMethods", rule.allowedMethods),
    serializeTextElement("AllowedHeaders", rule.allowedHeaders),
    serializeTextElement("ExposedHeaders", rule.exposedHeaders),
    serializeTextElement("MaxAgeInSeconds", rule.maxAgeInSeconds),
  );
}

export function parseServiceProperties(xml: string): ServiceProperties {
  const root = childOf(parseXml(xml), "StorageServiceProperties");
  return {
    logging: parseLogging(childOf(root, "Logging")),
    hourMetrics: parseMetrics(childOf(root, "HourMetrics")),
    minuteMetrics: parseMetrics(childOf(root, "MinuteMetrics")),
    cors: childrenOf(childOf(root, "Cors"), "CorsRule").map(parseCorsRule),
  };
}

function parseLogging(section: XmlElement | undefined): Logging {
  return {
    version: childText(section, "Version") ?? "",
    delete: isTrue(section, "Delete"),
    read: isTrue(section, "Read"),
    write: isTrue(section, "Write"),
    retentionPolicy: parseRetention(section),
  };
}

function parseMetrics(section: XmlElement | undefined): Metrics {
  const version = childText(section, "Version");
  return {
    ...(version === undefined ? {} : { version }),
    enabled: isTrue(section, "Enabled"),
    ...(childOf(section, "IncludeAPIs") === undefined
      ? {}
      : { includeAPIs: isTrue(section, "IncludeAPIs") }),
    retentionPolicy: parseRetention(section),
  };
}

function parseRetention(section: XmlElement | undefined): RetentionPolicy {
  const policy = childOf(section, "RetentionPolicy");
  const days = childText(policy, "Days");
  return {
    enabled: isTrue(policy, "Enabled"),
    ...(days === undefined ? {} : { days: Number(days) }),
  };
}

function parseCorsRule(rule: XmlElement): CorsRule {
  return {
    allowedOrigins: childText(rule, "AllowedOrigins") ?? "",
    allowedMethods: childText(rule, "AllowedMethods") ?? "",
    allowedHeaders: childText(rule, "AllowedHeaders") ?? "",
    exposedHeaders: childText(rule, "ExposedHeaders") ?? "",
    maxAgeInSeconds: Number(childText(rule, "MaxAgeInSeconds")),
  };
}

function isTrue(section: XmlElement | undefined, name: string): boolean {
  return childText(section, name) === "true";
}

// ---- Statistics ------------------------------------------------------------------------------

export function parseStatistics(xml: string): TableServiceStats {
  const replication = childOf(childOf(parseXml(xml), "StorageServiceStats"), "GeoReplication");
  const status = childText(replication, "Status") ?? "";
  const lastSyncTime = new Date(childText(replication, "LastSyncTime") ?? "");
  return { geoReplication: { status, lastSyncTime } };
}
