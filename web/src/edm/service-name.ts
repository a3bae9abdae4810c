// The service's names of the system properties.

const serviceNames: Readonly<Record<string, string>> = {
  partitionKey: "PartitionKey",
  rowKey: "RowKey",
  timestamp: "Timestamp",
};

/** Returns the service's name of a property that is named as in the client's entities. */
export function serviceName(name: string): string {
  return Object.hasOwn(serviceNames, name) ? (serviceNames[name] as string) : name;
}
