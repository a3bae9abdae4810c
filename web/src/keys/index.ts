// entitable/keys: encodes values as keys that sort as the values do, and decodes them.

export { compositeKey, compositePrefix, parseCompositeKey } from "./composite.ts";
export { escapeKey, unescapeKey } from "./escape.ts";
export {
  invertedTicks,
  paddedNumber,
  parseInvertedTicks,
  parsePaddedNumber,
  parseTimeKey,
  type TimeUnit,
  timeKey,
} from "./numbers-and-times.ts";
export { type PrefixRange, prefixRange, rangeFilter } from "./range.ts";
