// Numbers the property names of a write message: each name gets the next number when it is first
// used in the message. Known names are cached across messages. Most entities list the same names in
// the same order, so the name at the same position in the previous entity is tried first.

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
  readonly #storesAll: boolean;
  readonly #known = new Map<string, Name>();
  #expected: Name[] = []; // by position in the entity
  #messageNumber = 0;
  #names: string[] = []; // the names in this message, by number
  // The names of the previous message and their encoded form. The next message often has the same.
  #previous = {
    table: "",
    names: [] as string[],
    lengths: new Int32Array(0),
    text: new Uint8Array(0),
  };

  // `storesAll`: entities have no system properties, so every name is that of a custom property.
  constructor(storesAll = false) {
    this.#storesAll = storesAll;
  }

  beginMessage(): void {
    ++this.#messageNumber;
    this.#names = [];
    if (this.#known.size > knownNamesMax) {
      this.#known.clear();
      this.#expected = [];
    }
  }

  // The number of different names in this message.
  get countInMessage(): number {
    return this.#names.length;
  }

  // Returns the number of a name in this message. Returns -1 if properties of that name are not
  // stored (such as etag). `place`: the property's position in its entity.
  numberOf(text: string, place: number): number {
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

  // Writes the length of the table's name and of each property name. Returns the text of all these
  // names, which comes first in the message's text area.
  putNames(writer: MessageWriter, table: string): Uint8Array<ArrayBuffer> {
    const names = this.#names;
    if (!writer.isUtf16 && this.#matchesPrevious(table)) {
      writer.reserveWords(names.length);
      const { lengths, text } = this.#previous;
      // For a few words, this loop is faster than set().
      for (let i = 0; i < lengths.length; ++i) writer.words[writer.at++] = lengths[i] as number;
      return text;
    }
    const namesAt = writer.at;
    let first = writer.textEnd;
    let units = table.length;
    writer.putTextWithoutLength(table);
    for (const name of names) {
      units += name.length;
      writer.putWord(name.length);
      writer.putTextWithoutLength(name);
    }
    // a name may have switched the text to UTF-16
    if (writer.isUtf16) first = writer.textEnd - 2 * units;
    const text = writer.removeTextFrom(first);
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
      const stored = this.#storesAll || isStored(text);
      name = { text, stored, messageNumber: 0, number: 0 };
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
