// The error for an invalid command line.

export class UsageError extends Error {}
