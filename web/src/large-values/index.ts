// entitable/large-values: values beyond the limits of a property and of an entity, in rows of a
// table.

export {
  type LargeValueOptions,
  LargeValues,
  type LargeValueTable,
  type LargeValueWriteOptions,
} from "./large-values.ts";
