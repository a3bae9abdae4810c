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
  element,
  elementContents,
  elementText,
  firstElementContent,
  removeElements,
  textElement,
} from "./xml.ts";

// ---- Access policies -------------------------------------------------------------------------

export function serializeAccessPolicies(identifiers: readonly SignedIdentifier[]): string {
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

export function parseAccessPolicies(xml: string): SignedIdentifier[] {
  return elementContents(xml, "SignedIdentifier").map((identifier) => {
    const accessPolicy: AccessPolicy = {};
    const start = elementText(identifier, "Start");
    const expiry = elementText(identifier, "Expiry");
    const permission = elementText(identifier, "Permission");
    if (start !== undefined) accessPolicy.start = new Date(start);
    if (expiry !== undefined) accessPolicy.expiry = new Date(expiry);
    if (permission !== undefined) accessPolicy.permission = permission;
    return { id: elementText(identifier, "Id") ?? "", accessPolicy };
  });
}

// Formats a date with a resolution of one second, as the official client does.
function dateText(date: Date | undefined): string | undefined {
  return date ? `${date.toISOString().slice(0, -5)}Z` : undefined;
}

// ---- Properties ------------------------------------------------------------------------------

// Omitted sections stay unchanged on the service.
export function serializeServiceProperties(properties: ServiceProperties): string {
  const { logging, hourMetrics, minuteMetrics, cors } = properties;
  return element(
    "StorageServiceProperties",
    logging ? serializeLogging(logging) : "",
    hourMetrics ? serializeMetrics("HourMetrics", hourMetrics) : "",
    minuteMetrics ? serializeMetrics("MinuteMetrics", minuteMetrics) : "",
    cors ? element("Cors", ...cors.map(serializeCorsRule)) : "",
  );
}

function serializeLogging({
  version,
  read,
  write,
  delete: remove,
  retentionPolicy,
}: Logging): string {
  return element(
    "Logging",
    textElement("Version", version),
    textElement("Delete", remove),
    textElement("Read", read),
    textElement("Write", write),
    serializeRetention(retentionPolicy),
  );
}

function serializeMetrics(name: string, metrics: Metrics): string {
  return element(
    name,
    textElement("Version", metrics.version),
    textElement("Enabled", metrics.enabled),
    textElement("IncludeAPIs", metrics.includeAPIs),
    serializeRetention(metrics.retentionPolicy),
  );
}

function serializeRetention(policy: RetentionPolicy | undefined): string {
  if (!policy) return "";
  return element(
    "RetentionPolicy",
    textElement("Enabled", policy.enabled),
    textElement("Days", policy.days),
  );
}

function serializeCorsRule(rule: CorsRule): string {
  return element(
    "CorsRule",
    textElement("AllowedOrigins", rule.allowedOrigins),
    textElement("AllowedMethods", rule.allowedMethods),
    textElement("AllowedHeaders", rule.allowedHeaders),
    textElement("ExposedHeaders", rule.exposedHeaders),
    textElement("MaxAgeInSeconds", rule.maxAgeInSeconds),
  );
}

export function parseServiceProperties(xml: string): ServiceProperties {
  return {
    logging: parseLogging(firstElementContent(xml, "Logging") ?? ""),
    hourMetrics: parseMetrics(firstElementContent(xml, "HourMetrics") ?? ""),
    minuteMetrics: parseMetrics(firstElementContent(xml, "MinuteMetrics") ?? ""),
    cors: elementContents(xml, "CorsRule").map(parseCorsRule),
  };
}

function parseLogging(section: string): Logging {
  return {
    version: elementText(section, "Version") ?? "",
    delete: isTrue(section, "Delete"),
    read: isTrue(section, "Read"),
    write: isTrue(section, "Write"),
    retentionPolicy: parseRetention(section),
  };
}

function parseMetrics(section: string): Metrics {
  const own = removeElements(section, "RetentionPolicy"); // it also contains an Enabled element
  const version = elementText(own, "Version");
  return {
    ...(version === undefined ? {} : { version }),
    enabled: isTrue(own, "Enabled"),
    ...(firstElementContent(own, "IncludeAPIs") === undefined
      ? {}
      : { includeAPIs: isTrue(own, "IncludeAPIs") }),
    retentionPolicy: parseRetention(section),
  };
}

function parseRetention(section: string): RetentionPolicy {
  const policy = firstElementContent(section, "RetentionPolicy") ?? "";
  const days = elementText(policy, "Days");
  return {
    enabled: isTrue(policy, "Enabled"),
    ...(days === undefined ? {} : { days: Number(days) }),
  };
}

function parseCorsRule(rule: string): CorsRule {
  return {
    allowedOrigins: elementText(rule, "AllowedOrigins") ?? "",
    allowedMethods: elementText(rule, "AllowedMethods") ?? "",
    allowedHeaders: elementText(rule, "AllowedHeaders") ?? "",
    exposedHeaders: elementText(rule, "ExposedHeaders") ?? "",
    maxAgeInSeconds: Number(elementText(rule, "MaxAgeInSeconds")),
  };
}

function isTrue(section: string, name: string): boolean {
  return elementText(section, name) === "true";
}

// ---- Statistics ------------------------------------------------------------------------------

export function parseStatistics(xml: string): TableServiceStats {
  const status = elementText(xml, "Status") ?? "";
  const lastSyncTime = new Date(elementText(xml, "LastSyncTime") ?? "");
  return { geoReplication: { status, lastSyncTime } };
}
