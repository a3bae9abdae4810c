// Reads server-sent events over a socket of its own, as EventSource does, and as slowly as a test
// wants.

import * as http from "node:http";
import * as https from "node:https";

export interface ServerEvent {
  type: string;
  id: string; // of the last event or line with an id
  data: string;
}

export interface EventStreamOptions {
  headers?: Record<string, string>;
  method?: string;
  ca?: string; // the certificate of an HTTPS server
}

export class EventStream {
  readonly events: ServerEvent[] = [];
  readonly response: http.IncomingMessage;
  comments = 0;
  lastEventId = "";
  retry = "";
  hasEnded = false;
  text = ""; // of a response that is no stream
  readonly #request: http.ClientRequest;
  #line = "";
  #event: { type: string; data: string[] } = { type: "message", data: [] };
  #onChange: () => void = () => {};

  // Resolves when the response's headers have arrived.
  static open(url: string, options: EventStreamOptions = {}): Promise<EventStream> {
    const { get } = url.startsWith("https:") ? https : http;
    const { headers = {}, method = "GET", ca } = options;
    return new Promise((resolve, reject) => {
      const request = get(url, { headers, method, ca, agent: false }, (response) =>
        resolve(new EventStream(request, response)),
      );
      request.on("error", reject);
      request.end();
    });
  }

  constructor(request: http.ClientRequest, response: http.IncomingMessage) {
    this.#request = request;
    this.response = response;
    const isStream = response.headers["content-type"] === "text/event-stream";
    response.setEncoding("utf8").on("data", (text: string) => {
      if (isStream) this.#add(text);
      else this.text += text;
      this.#onChange();
    });
    const onEnd = () => {
      this.hasEnded = true;
      this.#onChange();
    };
    response.on("end", onEnd).on("close", onEnd).on("error", onEnd);
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  // The service's code and message of an error response.
  async error(): Promise<{ status: number; code: string; message: string; hint: string }> {
    await this.#until(() => this.hasEnded);
    const { code, message } = JSON.parse(this.text)["odata.error"];
    const hint = String(this.response.headers["x-entitable-hint"]);
    return { status: this.status, code, message: message.value, hint };
  }

  // Resolves when so many events have arrived. Rejects if the stream ends before.
  async count(events: number): Promise<ServerEvent[]> {
    await this.#until(() => this.hasEnded || this.events.length >= events);
    if (this.events.length < events)
      throw new Error(`Only these events came: ${JSON.stringify(this.events)}`);
    return this.events;
  }

  async ended(): Promise<void> {
    await this.#until(() => this.hasEnded);
  }

  close(): void {
    this.#request.destroy();
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  #add(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#addLine(line);
  }

  #addLine(line: string): void {
    if (line === "") {
      const { type, data } = this.#event;
      if (data.length > 0) {
        this.events.push({ type, id: this.lastEventId, data: data.join("\n") });
      }
      this.#event = { type: "message", data: [] };
      return;
    }
    const [, name, value = ""] = /^([^:]*):? ?([\s\S]*)$/.exec(line) ?? [];
    if (name === "") this.comments += 1;
    if (name === "id") this.lastEventId = value;
    if (name === "retry") this.retry = value;
    if (name === "event") this.#event.type = value;
    if (name === "data") this.#event.data.push(value);
  }
}
