// Checks whether a text is a valid value of an Edm type. The core makes the final check; this one
// lets forms and imports report the error earlier, together with the value.

import type { EdmTypes } from "../types.ts";

const guid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const base64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;
const date = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/;
const double = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

export function isValidEdmText(type: EdmTypes, text: string): boolean {
  switch (type) {
    case "String":
      return text.length <= 32_768;
    case "Int32":
      return isWhole(text, 32);
    case "Int64":
      return isWhole(text, 64);
    case "Double":
      return isDouble(text);
    case "Boolean":
      return /^(?:true|false)$/i.test(text);
    case "DateTime":
      return date.test(text) && !Number.isNaN(Date.parse(text.slice(0, 10)));
    case "Guid":
      return guid.test(text);
    case "Binary":
      return base64.test(text);
  }
}

function isWhole(text: string, bits: number): boolean {
  if (!/^-?\d{1,20}$/.test(text)) return false;
  return BigInt.asIntN(bits, BigInt(text)) === BigInt(text);
}

function isDouble(text: string): boolean {
  if (/^(?:NaN|-?Infinity)$/.test(text)) return true;
  return double.test(text) && Number.isFinite(Number(text));
}
