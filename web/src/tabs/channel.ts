// Channels for messages: a BroadcastChannel between tabs, where any tab can join by name; a
// MessagePort between a page and its worker, where buffers can be transferred instead of copied.

export interface Channel {
  // `bytes`: views in the message whose buffers may be transferred. The sender must not use them
  // afterwards.
  post(message: unknown, bytes?: readonly Uint8Array[]): void;
  close(): void;
}

export type OpenChannel = (name: string, onMessage: (message: unknown) => void) => Channel;

// Returns a function that opens a BroadcastChannel; undefined where the platform has none.
export function broadcastChannels(): OpenChannel | undefined {
  if (typeof BroadcastChannel === "undefined") return undefined;
  return (name, onMessage) => {
    const channel = new BroadcastChannel(name);
    channel.onmessage = (event) => onMessage(event.data);
    (channel as { unref?(): void }).unref?.(); // in Node the channel would keep the process alive
    let open = true;
    return {
      post(message) {
        if (open) channel.postMessage(message);
      },
      close() {
        open = false;
        channel.close();
      },
    };
  };
}

// Returns bytes in a buffer of their own, because posting a view sends its whole buffer. Copies
// only if the buffer has other content.
export function ownBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

// Returns a channel over a port. post() transfers only buffers that a view covers completely: other
// bytes of a buffer may still be in use.
export function portChannel(port: MessagePort, onMessage: (message: unknown) => void): Channel {
  port.onmessage = (event) => onMessage(event.data);
  return {
    post(message, bytes = []) {
      const movable = bytes.filter((view) => view === ownBuffer(view));
      port.postMessage(message, [...new Set(movable.map(({ buffer }) => buffer as ArrayBuffer))]);
    },
    close() {
      port.close();
    },
  };
}
