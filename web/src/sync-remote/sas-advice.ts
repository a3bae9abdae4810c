// Which permissions of a shared access signature sync needs.

/** In the order of the service. */
const needed = [
  ["r", "read"],
  ["a", "add"],
  ["u", "update"],
  ["d", "delete"],
] as const;

/** Returns what to say about a signature; "": there is none. Does not show the signature. */
export function sasAdvice(sas: string): string[] {
  const all = `Permissions of a shared access signature: ${needed.map(([, name]) => name).join(", ")} (sp=raud) of the table`;
  const lines = [`${all}; for an account's signature also the resource type object (srt=o).`];
  if (sas === "") return lines;
  const fields = new URLSearchParams(sas);
  const permissions = fields.get("sp");
  const missing = needed.filter(([letter]) => !permissions?.includes(letter));
  if (permissions === null) lines.push("This signature has the permissions of a stored policy.");
  else if (missing.length > 0) {
    lines.push(`This signature lacks: ${missing.map(([, name]) => name).join(", ")}.`);
  } else lines.push("This signature has them.");
  const expiry = Date.parse(fields.get("se") ?? "");
  if (!Number.isNaN(expiry)) lines.push(`It expires at ${new Date(expiry).toISOString()}.`);
  const hasRange = ["spk", "srk", "epk", "erk"].some((name) => fields.has(name));
  if (hasRange) lines.push("It allows a range of keys only: other rows seem to be deleted.");
  return lines;
}
