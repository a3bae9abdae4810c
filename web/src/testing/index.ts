// `entitable/testing`: a store for tests with forks, rollback and reproducible responses, and a
// `fetch` with faults.

export type {
  FaultyFetch,
  FaultyFetchOptions,
  FetchFault,
  FetchFaultName,
  FetchFaultOptions,
  FetchFaults,
} from "./faulty-fetch.ts";
export { faultyFetch } from "./faulty-fetch.ts";
export { mockStore } from "./mock-store.ts";
export type {
  ParityDifference,
  ParityOptions,
  ParityReport,
  ParityScript,
  ParityTarget,
} from "./parity.ts";
export { parity } from "./parity.ts";
export type {
  Delay,
  Fault,
  FaultRule,
  Faults,
  Fixtures,
  Latency,
  LoggedRequest,
  MockOptions,
  MockStore,
  NetworkFault,
  RequestLog,
  RequestMatch,
  Savepoint,
  ServiceLimitsOptions,
  Throttle,
} from "./types.ts";
export { VirtualClock } from "./virtual-clock.ts";
