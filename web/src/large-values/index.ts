// entitable/large-values: values beyond the limits of a property and of an entity, in rows of a table.

export {
  type AlongOptions,
  type LargeValueOptions,
  LargeValues,
  type LargeValueTable,
} from "./large-values.ts";
