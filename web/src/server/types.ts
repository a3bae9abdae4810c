// What the server says to its user.

/** A request that was answered. */
export interface ServedRequest {
  at: Date;
  /** The client's address. */
  client: string;
  method: string;
  /** Signatures are left out. */
  url: string;
  status: number;
  milliseconds: number;
  /** Of the bodies. */
  requestBytes: number;
  responseBytes: number;
}
