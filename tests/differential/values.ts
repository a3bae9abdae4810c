// Values of every Edm type as JSON text: valid, valid in an unusual form, and invalid ones.

import type { EdmType } from "./request.ts";
import type { SeededRandom } from "./seeded-random.ts";

export interface Member {
  json: string; // the value
  annotation?: EdmType;
  literal?: string; // the value as a literal in a filter
}

const quoted = JSON.stringify;
const two = (n: number) => String(n).padStart(2, "0");
const hex = "0123456789abcdef";

const texts = ["", "a", "b", "o'x", "\u00fc \u20ac \u{1f600}", "line\nbreak\ttab", '<&>"\\', "Z"];

function dateText(random: SeededRandom): string {
  const day = `${1700 + random.below(600)}-${two(1 + random.below(12))}-${two(1 + random.below(28))}`;
  const time = `${two(random.below(24))}:${two(random.below(60))}:${two(random.below(60))}`;
  const fraction = random.oneIn(2) ? `.${random.text(random.below(7), "0123456789")}1` : "";
  return `${day}T${time}${fraction}Z`;
}

function guidText(random: SeededRandom): string {
  return [8, 4, 4, 4, 12].map((length) => random.text(length, hex)).join("-");
}

function int64Text(random: SeededRandom): string {
  const digits = `${1 + random.below(9)}${random.text(random.below(18), "0123456789")}`;
  return random.pick([digits, `-${digits}`, "0", "9223372036854775807", "-9223372036854775808"]);
}

// Returns a valid value in the form in which the service returns it.
export function validValue(random: SeededRandom, type: EdmType): Member {
  switch (type) {
    case "String": {
      const text = random.oneIn(9) ? random.text(200, "abc ") : random.pick(texts);
      return { json: quoted(text), literal: `'${text.replaceAll("'", "''")}'` };
    }
    case "Binary": {
      const bytes = Buffer.from(random.text(2 * random.below(20), hex), "hex");
      const literal = `X'${bytes.toString("hex")}'`;
      return { json: quoted(bytes.toString("base64")), annotation: "Binary", literal };
    }
    case "Boolean": {
      const json = random.pick(["true", "false"]);
      return { json, literal: json, ...(random.oneIn(4) ? { annotation: "Boolean" } : {}) };
    }
    case "DateTime": {
      const text = dateText(random);
      return { json: quoted(text), annotation: "DateTime", literal: `datetime'${text}'` };
    }
    case "Double": {
      const number = random.pick([1.5, -0.25, 1e-7, 1.7976931348623157e308, 2.5, 1234.0625]);
      const json = `${number}`;
      // Azurite's filters do not support exponents. Other scenarios test them.
      const literal = json.includes("e") ? "2.5" : json;
      return { json, literal, ...(random.oneIn(3) ? { annotation: "Double" } : {}) };
    }
    case "Guid": {
      const text = guidText(random);
      return { json: quoted(text), annotation: "Guid", literal: `guid'${text}'` };
    }
    case "Int32": {
      const json = `${random.pick([random.below(100), -random.below(100), 2147483647, -2147483648])}`;
      return { json, literal: json, ...(random.oneIn(4) ? { annotation: "Int32" } : {}) };
    }
    case "Int64": {
      const text = int64Text(random);
      return { json: quoted(text), annotation: "Int64", literal: `${text}L` };
    }
  }
}

// Returns a valid value that the service returns in another form or as another type.
export function unusualValue(random: SeededRandom, type: EdmType): Member {
  switch (type) {
    case "DateTime": {
      const forms = [
        "1973-10-04T00:00:00.000000Z",
        "2024-01-02T03:04:05+02:00",
        "2024-01-02T03:04:05",
        "2024-01-02",
        "1601-01-01T00:00:00Z",
        "9999-12-31T23:59:59.9999999Z",
      ];
      return { json: quoted(random.pick(forms)), annotation: "DateTime" };
    }
    case "Double": {
      const annotated: readonly string[] = [
        "3",
        "3.0",
        '"1.5"',
        '"NaN"',
        '"Infinity"',
        '"-Infinity"',
      ];
      const bare = ["3.0", "-0.0", "1e3", "5000000000", "-2147483649"];
      return random.oneIn(2)
        ? { json: random.pick(annotated), annotation: "Double" }
        : { json: random.pick(bare) };
    }
    case "Guid":
      return { json: quoted(guidText(random).toUpperCase()), annotation: "Guid" };
    case "Int32":
      return { json: quoted(`${random.below(1000)}`), annotation: "Int32" };
    case "String":
      return {
        json: quoted(random.pick(["2024-01-02T03:04:05Z", "5", "true"])),
        annotation: "String",
      };
    default:
      return validValue(random, type);
  }
}

// Returns an invalid value: it does not fit its type.
export function invalidValue(random: SeededRandom, type: EdmType): Member {
  const bad: Record<EdmType, readonly string[]> = {
    String: ['{"a":1}', "[]", '["a"]'],
    Binary: ['"!!!"', '"YQ"', "5"],
    Boolean: ['"maybe"', "2"],
    DateTime: ['"yesterday"', '"2024-13-01T00:00:00Z"', '""', "true"],
    Double: ['"abc"', "1e400", '""'],
    Guid: ['"xyz"', '"c9da6455213d42c99a793e9149a57833"', "7"],
    Int32: ['"abc"', "2147483648", "1.5", "true"],
    Int64: ['"abc"', '"9223372036854775808"', '"1.5"', "true"],
  };
  const json = random.pick(bad[type]);
  return type === "String" || json === "1e400" ? { json } : { json, annotation: type };
}

// Returns an invalid value: the type cannot represent such an early date.
export function earlyDate(): Member {
  return { json: quoted("1600-12-31T23:59:59Z"), annotation: "DateTime" };
}

// Returns an invalid value: one unit or byte longer than a property may be.
export function largeValue(type: "String" | "Binary"): Member {
  return type === "String"
    ? { json: quoted("x".repeat(32 * 1024 + 1)) }
    : { json: quoted(Buffer.alloc(64 * 1024 + 1).toString("base64")), annotation: "Binary" };
}
