// Changes of WebAssembly binaries that Binaryen's tools do not make.

const sectionIds = { custom: 0, imports: 2 };
const kinds = { function: 0, table: 1, memory: 2, global: 3, tag: 4 }; // of imports
const hasMaximum = 1; // a flag of the limits of a table or memory

// Returns a custom section. Its payload is the length of the name, the name and the contents.
export function customSection(name, contents) {
  return section(sectionIds.custom, [
    leb128(name.length),
    Buffer.from(name),
    Buffer.from(contents),
  ]);
}

// Returns the module without the maximum size of the table that it imports.
export function withoutTableMaximum(module) {
  const reader = new Reader(module, 8); // after the magic number and the version
  for (;;) {
    const start = reader.at;
    const id = reader.byte();
    const size = reader.leb128();
    const end = reader.at + size;
    if (id === sectionIds.imports) {
      const payload = importsWithoutTableMaximum(module, new Reader(module, reader.at), end);
      return Buffer.concat([module.subarray(0, start), section(id, payload), module.subarray(end)]);
    }
    reader.at = end;
  }
}

// `reader`: at the payload of the section, which ends at `end`.
function importsWithoutTableMaximum(module, reader, end) {
  const start = reader.at;
  for (let left = reader.leb128(); left > 0; --left) {
    reader.skipName(); // of the module
    reader.skipName();
    const kind = reader.byte();
    if (kind !== kinds.function && kind !== kinds.memory) reader.byte(); // a type or an attribute
    const limits = reader.at;
    const flags = reader.leb128(); // or an index, or whether a global is mutable
    if (kind !== kinds.table && kind !== kinds.memory) continue;
    const minimum = reader.leb128();
    if ((flags & hasMaximum) !== 0) reader.leb128();
    if (kind !== kinds.table) continue;
    const changed = [leb128(flags & ~hasMaximum), leb128(minimum)];
    return [module.subarray(start, limits), ...changed, module.subarray(reader.at, end)];
  }
  throw new Error("The module imports no table.");
}

class Reader {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  byte() {
    if (this.at >= this.bytes.length) throw new Error("The module ends too early.");
    return this.bytes[this.at++];
  }

  leb128() {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  skipName() {
    const length = this.leb128();
    this.at += length;
  }
}

function section(id, parts) {
  const payload = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([id]), leb128(payload.length), payload]);
}

function leb128(value) {
  const bytes = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) {
      bytes.push(rest);
      return Buffer.from(bytes);
    }
    bytes.push((rest & 0x7f) | 0x80);
  }
}
