// entitable/large-values: stores values that are too large for a property or an entity in several
// rows of a table.

export {
  type LargeValueOptions,
  LargeValues,
  type LargeValueTable,
  type LargeValueWriteOptions,
} from "./large-values.ts";
