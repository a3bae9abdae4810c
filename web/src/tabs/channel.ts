// Where messages travel: between tabs over BroadcastChannel, which needs no introduction, and
// between a page and its worker over a port, which moves bytes instead of copying them.

export interface Channel {
  // `bytes`: buffers in the message that the sender gives away, where that is possible.
  post(message: unknown, bytes?: readonly Uint8Array[]): void;
  close(): void;
}

export type OpenChannel = (name: string, onMessage: (message: unknown) => void) => Channel;

// Undefined where there are none.
export function broadcastChannels(): OpenChannel | undefined {
  if (typeof BroadcastChannel === "undefined") return undefined;
  return (name, onMessage) => {
    const channel = new BroadcastChannel(name);
    channel.onmessage = (event) => onMessage(event.data);
    (channel as { unref?(): void }).unref?.(); // in Node it would keep the process alive
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

// Transfers only buffers that the message uses whole: other bytes in a shared buffer may still be
// in use.
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
