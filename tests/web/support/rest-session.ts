// Runs golden conversations through the wasm module's REST entry point. Uses its own store, and the
// same clock and ids as tests/core/rest/conversation.h, which explains the conversations. Texts
// have one character per byte.

import { accountFromOptions } from "../../../web/src/rest/account.ts";
import {
  decodeHttpResponse,
  encodeHttpRequest,
  type HttpResponse,
} from "../../../web/src/rest/http-message.ts";
import { createEngine, type Engine, type SimulatedError } from "../../../web/src/wasm/engine.ts";
import { assertLoaded } from "./assert-loaded.ts";

const account = accountFromOptions({}, "devstoreaccount1");
const newestVersion = "2020-12-06";
const id = "0123456789abcdef";
const ids = { fill: (bytes: Uint8Array) => bytes.set(Buffer.from(id, "latin1")) };
const idText = "30313233-3435-3637-3839-616263646566";

interface ParsedRequest {
  refusal: SimulatedError | undefined;
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: string;
}

export class RestSession {
  readonly #engine: Engine;
  #now = Date.UTC(2024, 0, 2, 3);
  readonly #timesSeen: string[] = [];

  static async start(): Promise<RestSession> {
    const engine = await createEngine();
    engine.recover(undefined);
    engine.finishRecovery();
    engine.configureAccount(account, undefined);
    return new RestSession(engine);
  }

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  close(): void {
    this.#engine.close();
  }

  // Returns the response to a request. Both are texts with placeholders.
  responseTo(text: string): string {
    const request = parse(this.#withPlaceholdersFilled(text));
    return this.#textOf(request, this.#send(request));
  }

  #send(request: ParsedRequest): HttpResponse {
    this.#now += 1000;
    const body = Buffer.from(request.body, "latin1");
    const message = encodeHttpRequest({ ...request, body, clientIp: "" }, ids);
    if (request.refusal !== undefined) {
      return decodeHttpResponse(
        this.#engine.makeErrorResponse(message, request.refusal, this.#now),
      );
    }
    if (["GET", "HEAD", "OPTIONS"].includes(request.method)) {
      return decodeHttpResponse(assertLoaded(this.#engine.readHttp(message, this.#now)));
    }
    const { responses, changes } = assertLoaded(this.#engine.stage([message], this.#now));
    if (changes) this.#engine.publish();
    return decodeHttpResponse(responses[0] as Uint8Array);
  }

  #withPlaceholdersFilled(text: string): string {
    return text
      .replace(/\{([te])(\d+)\}/g, (name, form, number) => {
        const time = this.#timesSeen[Number(number) - 1];
        if (time === undefined) return name;
        return form === "e" ? time.replaceAll(":", "%3A") : time;
      })
      .replace(/\{(.)\*(\d+)\}/gs, (_, character, count) => character.repeat(Number(count)));
  }

  #textOf(request: ParsedRequest, response: HttpResponse): string {
    const { status, reason, headers } = response;
    const value = (name: string) => headers.find((header) => header[0] === name)?.[1];
    const fresh =
      value("Cache-Control") === "no-cache" && value("X-Content-Type-Options") === "nosniff";
    const known = fresh ? ["Cache-Control", "X-Content-Type-Options"] : [];
    let text = `HTTP/1.1 ${status} ${reason}${fresh ? "" : " (cacheable)"}`;
    for (const [name, value] of headers) {
      if (this.#isExpectedHeader(request, name, value) || known.includes(name)) continue;
      text += `\n${name}: ${value}`;
    }
    const body = Buffer.from(response.body).toString("latin1");
    if (body !== "") text += `\n\n${body}`;
    text = text.replaceAll("\r\n", "\n").replaceAll(idText, "{id}");
    return shortened(this.#withNamedTimes(text), value("x-ms-error-code") ?? "");
  }

  #isExpectedHeader({ headers }: ParsedRequest, name: string, value: string): boolean {
    switch (name) {
      case "x-ms-request-id":
        return value === idText;
      case "Date":
        return value === new Date(this.#now).toUTCString();
      case "Server":
        return value === "entitable";
      case "x-ms-version":
        return (
          value === newestVersion &&
          !headers.some(([request]) => request.toLowerCase() === "x-ms-version")
        );
      default:
        return false;
    }
  }

  // Replaces times by placeholders, in either format: those of the store, which all are within one
  // hour, and the time of the request.
  #withNamedTimes(text: string): string {
    const now = new Date(this.#now).toISOString().replace(".000Z", ".0000000Z");
    return text.replaceAll(now, "{now}").replace(/2024-01-02T03[^Z]*Z/g, (found) => {
      const time = found.replaceAll("%3A", ":");
      if (!this.#timesSeen.includes(time)) this.#timesSeen.push(time);
      return `{${found === time ? "t" : "e"}${this.#timesSeen.indexOf(time) + 1}}`;
    });
  }
}

function parse(text: string): ParsedRequest {
  const end = text.indexOf("\n\n");
  const all = (end < 0 ? text : text.slice(0, end)).split("\n");
  const [line = "", ...lines] = all.filter((line) => !line.startsWith("!! "));
  const refusal = refusalOf(all.filter((line) => line.startsWith("!! ")));
  const space = line.indexOf(" ");
  const target = line.slice(space + 1).replace(/ HTTP\/1\.1$/, "");
  return {
    refusal,
    method: line.slice(0, space),
    url: target.startsWith("/") ? `http://127.0.0.1:10002/devstoreaccount1${target}` : target,
    headers: lines.map((header) => {
      const colon = header.indexOf(":");
      return [header.slice(0, colon), header.slice(colon + 1)];
    }),
    body: end < 0 ? "" : text.slice(end + 2),
  };
}

// Parses the lines of a simulated error: "!! code" or "!! status code message", then lines "!!
// header: value".
function refusalOf(lines: string[]): SimulatedError | undefined {
  const [first, ...rest] = lines.map((line) => line.slice("!! ".length));
  if (first === undefined) return undefined;
  const headers = Object.fromEntries(rest.map((header) => header.split(": ")));
  const [, status, code, message] = /^(\d+) (\S+) (.*)$/.exec(first) ?? [];
  if (status === undefined || code === undefined || message === undefined) {
    return { code: first, headers };
  }
  return { status: Number(status), code, message, headers };
}

// Formats a JSON error as one line.
function shortened(text: string, code: string): string {
  const start = `\n\n{"odata.error":{"code":"${code}","message":{"lang":"en-US","value":"`;
  const end = '\\nRequestId:{id}\\nTime:{now}"}}}';
  const at = text.indexOf(start);
  if (at < 0 || !text.endsWith(end)) return text;
  const message = text.slice(at + start.length, -end.length);
  return `${text.slice(0, at)}\n\nodata.error ${code}: ${message}`.replaceAll(
    `\nx-ms-error-code: ${code}`,
    "",
  );
}
