// Makes bearer tokens (JSON Web Tokens) as Microsoft Entra ID issues them, but without a valid
// signature.

export type Claims = Record<string, unknown>;

// Claims of a token for the storage service that is valid for an hour.
export function storageClaims(): Claims {
  const now = Math.floor(Date.now() / 1000);
  return {
    aud: "https://storage.azure.com",
    iss: "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
    iat: now - 60,
    nbf: now - 60,
    exp: now + 3600,
    amr: ["pwd"],
    name: "test",
    scp: "user_impersonation",
  };
}

export function bearerToken(claims: Claims): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return [part({ alg: "RS256", typ: "JWT" }), part(claims), "c2lnbmF0dXJl"].join(".");
}
