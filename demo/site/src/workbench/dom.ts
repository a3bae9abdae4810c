// More DOM and formatting helpers for this page.

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`no element #${id}`);
  return element as T;
}

export function formatBytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
}

// Describes an error. Service errors keep the service's status, code and message.
export function describeError(error: unknown): { title: string; text: string } {
  const { name, statusCode, code, message } = error as {
    name?: string;
    statusCode?: number;
    code?: string;
    message?: string;
  };
  const title =
    statusCode === undefined ? (code ?? name ?? "Error") : `${statusCode} ${code ?? ""}`;
  return { title: title.trim(), text: message ?? String(error) };
}
