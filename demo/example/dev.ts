// npm run dev: serves the app with an example list. The data is lost when the process ends.

import { serve } from "entitable/server";
import { mockStore } from "entitable/testing";
import { createServer } from "vite";
import { account, mock, mockOptions } from "./tests/backend.ts";

const hour = 3_600_000;
const store = await mockStore({ ...mockOptions, clock: Date });
const { url } = await serve(store, { port: 0 });
const backend = mock(store, `${url}/${account}`);
await backend.put(Array.from({ length: 30 }, (_, i) => ({ name: `Candle ${i + 10}`, amount: 1 })));

const vite = await createServer({
  plugins: [
    {
      name: "sessions",
      configureServer: ({ middlewares }) =>
        void middlewares.use("/session.json", (_request, response) => {
          response.end(JSON.stringify(backend.session(hour)));
        }),
    },
  ],
});
await vite.listen();
vite.printUrls();
