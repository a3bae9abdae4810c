// The addresses that npm shows beside the package. The publisher passes them in the
// environment of `node web/build.mjs`; without them, the package names no address.

/**
 * Returns the README with links to the site's pages instead of their source files, which are not in
 * the package. Without the site's address, the links become plain text.
 */
export function withSiteLinks(
  readme: string,
  { ENTITABLE_SITE }: Readonly<Record<string, string | undefined>>,
): string {
  const link = /\[([^\]]+)\]\(\.\.\/demo\/site\/pages\/([^)#]+)\.md(#[^)]*)?\)/g;
  const site = ENTITABLE_SITE?.replace(/\/?$/, "/");
  return readme.replace(link, (_, text: string, page: string, fragment = "") =>
    site === undefined ? text : `[${text}](${site}${page}/${fragment})`,
  );
}

/**
 * Returns the manifest with `repository`, `bugs` and `homepage`. ENTITABLE_REPOSITORY: the address
 * of the repository's page, such as https://host/owner/name. ENTITABLE_SITE: the address of the
 * site; default: the repository's README.
 */
export function withAddresses(
  manifest: object,
  { ENTITABLE_REPOSITORY, ENTITABLE_SITE }: Readonly<Record<string, string | undefined>>,
): object {
  const page = ENTITABLE_REPOSITORY?.replace(/\/$/, "");
  const homepage = ENTITABLE_SITE ?? (page && `${page}#readme`);
  return {
    ...manifest,
    ...(page && {
      repository: { type: "git", url: `git+${page}.git`, directory: "web" },
      bugs: `${page}/issues`,
    }),
    ...(homepage && { homepage }),
  };
}
