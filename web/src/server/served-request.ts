// The types of the server's request log: what `onRequest` gets.

/** A request that got a response. */
export interface ServedRequest {
  at: Date;
  /** The client's address. */
  client: string;
  method: string;
  /** The URL without signatures. */
  url: string;
  status: number;
  milliseconds: number;
  /** Lengths of the request's body and the response's body, in bytes. */
  requestBytes: number;
  responseBytes: number;
}
