import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore, TableClient } from "./support/package.ts";
