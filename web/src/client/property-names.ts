// Numbers the property names of write messages.
//
// Property names are numbered per message, in the order of their first use. Known names are cached
// across messages. Entities mostly list the same names in the same order, so the name at the same
// place in the previous entity is tried first.

import type { MessageWriter } from "./message-writer.ts";

interface Name {
  readonly text: string;
  readonly stored: boolean;
  messageNumber: number; // the message in which `number` is valid
  number: number;
}

const knownNamesMax = 10000;
const previousNamesBytesMax = 4096;

export class PropertyNames {
  readonly #known = new Map<string, Name>();
  #expected: Name[] = []; // by place in the entity
  #messageNumber = 0;
  #names: string[] = []; // of this message
  // The names of the previous message, which the next one mostly has too.
  #previous = {
    table: "",
    names: [] as string[],
    lengths: new Int32Array(0),
    text: new Uint8Array(0),
  };

  // Starts a message.
  begin(): void {
    ++this.#messageNumber;
    this.#names = [];
    if (this.#known.size > knownNamesMax) {
      this.#known.clear();
      this.#expected = [];
    }
  }

  // The number of names in this message.
  get count(): number {
    return this.#names.length;
  }

  // Returns the number of a name in this message; -1 if properties of that name are not stored.
  number(text: string, place: number): number {
    let name = this.#expected[place];
    if (name === undefined || name.text !== text) {
      name = this.#knownName(text);
      this.#expected[place] = name;
    }
    if (!name.stored) return -1;
    if (name.messageNumber !== this.#messageNumber) {
      name.messageNumber = this.#messageNumber;
      name.number = this.#names.push(text) - 1;
    }
    return name.number;
  }

  // Writes the lengths of the names of the table and the properties, and returns their text, which
  // comes first in the text area.
  put(writer: MessageWriter, table: string): Uint8Array<ArrayBuffer> {
    const names = this.#names;
    if (!writer.isUtf16 && this.#matchesPrevious(table)) {
      writer.reserveWords(names.length);
      const { lengths, text } = this.#previous;
      // Faster than set() for a few words.
      for (let i = 0; i < lengths.length; ++i) writer.words[writer.at++] = lengths[i] as number;
      return text;
    }
    const namesAt = writer.at;
    let first = writer.textEnd;
    let units = table.length;
    writer.putTextBytes(table);
    for (const name of names) {
      units += name.length;
      writer.putWord(name.length);
      writer.putTextBytes(name);
    }
    if (writer.isUtf16) first = writer.textEnd - 2 * units; // a name may have converted the text
    const text = writer.cutText(first);
    if (!writer.isUtf16 && text.length <= previousNamesBytesMax) {
      this.#previous = { table, names, lengths: writer.words.slice(namesAt, writer.at), text };
    }
    return text;
  }

  #matchesPrevious(table: string): boolean {
    const names = this.#names;
    const previous = this.#previous;
    if (table !== previous.table || names.length !== previous.names.length) return false;
    for (let i = 0; i < names.length; ++i) if (names[i] !== previous.names[i]) return false;
    return true;
  }

  #knownName(text: string): Name {
    let name = this.#known.get(text);
    if (name === undefined) {
      name = { text, stored: isStored(text), messageNumber: 0, number: 0 };
      this.#known.set(text, name);
    }
    return name;
  }
}

function isStored(name: string): boolean {
  switch (name) {
    case "partitionKey":
    case "rowKey":
    case "etag":
    case "timestamp":
      return false;
    default:
      return !name.startsWith("odata.");
  }
}
