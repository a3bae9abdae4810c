#!/usr/bin/env node
// `npx entitable-azurite`: `entitable serve` with Azurite's command line and messages.

import { runCommand } from "./command.ts";

await runCommand({ isAzurite: true });
