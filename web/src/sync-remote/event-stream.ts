// Server-sent events (WHATWG HTML, "Server-sent events"), as their text arrives.

export interface StreamEvent {
  readonly type: string; // "message" by default
  readonly id: string | undefined;
  readonly data: string; // "": there is only an id
}

const sizeMax = 2 ** 26; // characters of an event: a batch of the service has 4 MiB
const endMax = 4; // characters between two events

export class EventStreamParser {
  // Of the event that is not complete: what cannot be a part of its end, and what can.
  #begin: string[] = [];
  #tail = "";
  #size = 0;

  /** Returns the events that are complete now. Throws if one is too large. */
  push(text: string): StreamEvent[] {
    const blocks = (this.#tail + text).split(/\r\n\r\n|\n\n|\r\r/);
    const rest = blocks.pop() ?? "";
    if (blocks.length > 0) {
      blocks[0] = this.#begin.join("") + blocks[0];
      this.#begin = [];
      this.#size = 0;
    }
    this.#begin.push(rest.slice(0, 1 - endMax));
    this.#tail = rest.slice(1 - endMax);
    this.#size += rest.length - this.#tail.length;
    if (this.#size > sizeMax) throw new Error("An event is too large.");
    return blocks.map(eventOf).filter(({ data, id }) => data !== "" || id !== undefined);
  }
}

function eventOf(block: string): StreamEvent {
  let type = "message";
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") type = value;
    else if (name === "id") id = value;
    else if (name === "data") data.push(value);
  }
  return { type, id, data: data.join("\n") };
}
