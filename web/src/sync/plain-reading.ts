// What reads a table whose changes are applied as they come. The reading of whole partitions falls
// back on it, and is given it: so only one of the two is in the code that every table loads.

import { applyPage } from "./apply-page.ts";
import { scanPartition, sinceOf } from "./partition-scan.ts";
import { allEnded, someAtOnce } from "./some-at-once.ts";

export const plainReading = { allEnded, applyPage, scanPartition, sinceOf, someAtOnce };
export type PlainReading = typeof plainReading;
