// Recorded ("canned") responses that are sent again and again. With them, the time of a call is the
// client's alone.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { HttpClient } from "../../../web/src/types.ts";

export interface CannedResponse {
  status: number;
  headers: [string, string][];
  body: string;
}

// Sends requests through `client` and records the responses.
export class Recorder implements HttpClient {
  readonly responses: CannedResponse[] = [];
  readonly #client: HttpClient;

  constructor(client: HttpClient) {
    this.#client = client;
  }
  sendRequest: HttpClient["sendRequest"] = async (request) => {
    const response = await this.#client.sendRequest(request);
    this.responses.push({
      status: response.status,
      headers: [...response.headers],
      body: response.bodyAsText ?? "",
    });
    return response;
  };
}

// Header names are stored in lower case.
export class CannedHeaders extends Map<string, string> {
  override get(name: string): string | undefined {
    return super.get(name.toLowerCase());
  }
  override has(name: string): boolean {
    return super.has(name.toLowerCase());
  }
  toJSON(): Record<string, string> {
    return Object.fromEntries(this);
  }
}

// Returns the responses in order, and then again from the first one.
export class CannedSequence {
  readonly #responses: readonly CannedResponse[];
  #at = 0;

  constructor(responses: readonly CannedResponse[]) {
    this.#responses = responses;
  }
  next(): CannedResponse {
    return this.#responses[this.#at++ % this.#responses.length] as CannedResponse;
  }
}

// A process that responds over HTTP with the responses of the last call of answer(): it sends them
// in order, and then again from the first one.
export class CannedServer {
  readonly child: ChildProcess;
  readonly base: string;

  private constructor(child: ChildProcess, base: string) {
    this.child = child;
    this.base = base;
  }
  static async start(): Promise<CannedServer> {
    const child = fork(new URL("canned-server.ts", import.meta.url));
    const [port] = (await once(child, "message")) as [number];
    return new CannedServer(child, `http://127.0.0.1:${port}/devstoreaccount1`);
  }
  async answer(responses: readonly CannedResponse[]): Promise<void> {
    this.child.send(responses);
    await once(this.child, "message");
  }
  async stop(): Promise<void> {
    const exited = once(this.child, "exit");
    this.child.kill();
    await exited;
  }
}
