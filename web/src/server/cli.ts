#!/usr/bin/env node
// `npx entitable serve`.

import { runCommand } from "./command.ts";

await runCommand();
