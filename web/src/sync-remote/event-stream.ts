// Server-sent events (WHATWG HTML, "Server-sent events"), as their text arrives.

export interface StreamEvent {
  readonly type: string; // "message" by default
  readonly id: string | undefined;
  readonly data: string; // "": there is only an id
}

export class EventStreamParser {
  #text = "";

  /** Returns the events that are complete now. */
  push(text: string): StreamEvent[] {
    const blocks = (this.#text + text).split(/\r\n\r\n|\n\n|\r\r/);
    this.#text = blocks.pop() ?? "";
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
