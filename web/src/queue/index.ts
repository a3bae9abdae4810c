// entitable/queue: a small durable queue in a table.

export {
  type QueueMessage,
  type QueueOptions,
  type QueueTable,
  type ReceiveOptions,
  TableQueue,
} from "./queue.ts";
