// The options of Azurite's command line, which `entitable serve` accepts in addition to its own. A
// script that starts azurite or azurite-table can therefore start this server.

// Options of ours that have another name there.
export const azuriteNames: Readonly<Record<string, string>> = {
  tableHost: "host",
  tablePort: "port",
  inMemoryPersistence: "in-memory",
};

export const azuriteLetters: Readonly<Record<string, string>> = {
  location: "l",
  debug: "d",
  silent: "s",
  loose: "L",
};

// Options that have an effect here too.
export const azuriteFlags = ["skipApiVersionCheck"];
export const azuriteValues = ["tableKeepAliveTimeout", "oauth", "pwd"];

// Options without effect: the server never logs requests unless --debug is given, ignores headers
// and parameters that it does not know, recognizes both kinds of URLs, has no limit of its own for
// data in memory, and collects no telemetry.
export const ignoredFlags = ["silent", "loose", "disableProductStyleUrl", "disableTelemetry"];
export const ignoredValues = ["extentMemoryLimit"];

// Options of services that this server does not have.
export const otherServiceValues = ["blob", "queue"].flatMap((service) => [
  `${service}Host`,
  `${service}Port`,
  `${service}KeepAliveTimeout`,
]);

// Returns a warning that the given options have no effect, if any of them is for another service.
export function otherServiceWarning(given: ReadonlyMap<string, string>): string | undefined {
  const names = otherServiceValues.filter((name) => given.has(name)).map((name) => `--${name}`);
  if (names.length === 0) return undefined;
  return `only the Table service is served, so these options have no effect: ${names.join(", ")}.`;
}
