// Takes screenshots for people to look at: of every page of the built guide, after all its buttons
// were pressed, in light and dark mode and on a phone.
//
//   node tests/browser/screenshots.ts                     all pages
//   node tests/browser/screenshots.ts paging patterns/    pages whose path begins like this
//
// build/screenshots/<look>/<page>.png is one page. build/screenshots/sheet-<look>-<n>.png shows
// several pages at a smaller size.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { type Guide, openGuide, pagesOfGuide, runBlock } from "./support/guide.ts";

const variants = [
  { look: "light", width: 1280, colorScheme: "light" },
  { look: "dark", width: 1280, colorScheme: "dark" },
  { look: "phone", width: 390, colorScheme: "light" },
  { look: "phone-dark", width: 390, colorScheme: "dark" },
] as const;
type Variant = (typeof variants)[number];

interface Screenshot {
  readonly path: string;
  readonly file: string;
  readonly width: number;
  readonly height: number;
}

const folder = fileURLToPath(new URL("../../build/screenshots/", import.meta.url));
const nameOf = (path: string) => path.replaceAll("/", "-") || "start-page";

async function runAllBlocks(page: Page): Promise<void> {
  const blocks = await page.locator("table-playground").count();
  for (let index = 0; index < blocks; ++index) await runBlock(page, index);
}

async function takeScreenshot(page: Page, path: string, look: Variant): Promise<Screenshot> {
  await page.setViewportSize({ width: look.width, height: 900 });
  await page.emulateMedia({ colorScheme: look.colorScheme });
  await page.evaluate(() => scrollTo(0, 0));
  const file = `${folder}${look.look}/${nameOf(path)}.png`;
  const picture = await page.screenshot({ path: file, fullPage: true });
  return { path, file, width: picture.readUInt32BE(16), height: picture.readUInt32BE(20) };
}

// ---- Sheets -------------------------------------------------------------------------------------

const sheet = { width: 2000, height: 1400, gap: 12 };

/** Cuts a page into tiles that are as high as the sheet. */
function tilesOf({ path, file, width, height }: Screenshot, tileWidth: number): string[] {
  const scale = tileWidth / width;
  const count = Math.ceil((height * scale) / sheet.height);
  return Array.from({ length: count }, (_, index) => {
    const size = `width:${tileWidth}px;height:${sheet.height}px`;
    const picture = `background:url(${pathToFileURL(file)}) 0 ${-index * sheet.height}px / ${tileWidth}px auto no-repeat`;
    return `<figure style="${size};${picture}"><figcaption>${path || "the first page"} ${index + 1}/${count}</figcaption></figure>`;
  });
}

function sheetsOf(screenshots: readonly Screenshot[], tileWidth: number): string {
  const tiles = screenshots.flatMap((picture) => tilesOf(picture, tileWidth));
  const perSheet = Math.floor(sheet.width / (tileWidth + sheet.gap));
  const sheets: string[] = [];
  for (let first = 0; first < tiles.length; first += perSheet) {
    sheets.push(`<section>${tiles.slice(first, first + perSheet).join("")}</section>`);
  }
  const style = `body{margin:0;background:#888}section{display:flex;gap:${sheet.gap}px;padding:${sheet.gap}px;width:max-content}
figure{margin:0;position:relative}figcaption{position:absolute;right:0;bottom:0;background:#ff0;font:12px sans-serif}`;
  return `<!doctype html><meta charset="utf-8"><style>${style}</style>${sheets.join("\n")}`;
}

async function writeSheets(
  guide: Guide,
  look: Variant,
  screenshots: readonly Screenshot[],
): Promise<number> {
  const html = `${folder}${look.look}.html`;
  writeFileSync(html, sheetsOf(screenshots, look.width === 390 ? 320 : 640));
  const page = await guide.context.newPage();
  await page.goto(pathToFileURL(html).href);
  const sections = await page.locator("section").all();
  for (const [index, section] of sections.entries()) {
    const number = String(index + 1).padStart(2, "0");
    await section.screenshot({ path: `${folder}sheet-${look.look}-${number}.png` });
  }
  await page.close();
  return sections.length;
}

// ---- All of it ----------------------------------------------------------------------------------

const prefixes = process.argv.slice(2);
const paths = pagesOfGuide().filter(
  (path) => prefixes.length === 0 || prefixes.some((start) => path.startsWith(start)),
);
rmSync(folder, { recursive: true, force: true });
for (const { look } of variants) mkdirSync(`${folder}${look}`, { recursive: true });

const guide = await openGuide();
const screenshots = new Map<Variant, Screenshot[]>(variants.map((look) => [look, []]));
for (const path of paths) {
  const page = await guide.open(path);
  await runAllBlocks(page);
  for (const [look, list] of screenshots) list.push(await takeScreenshot(page, path, look));
  await page.close();
}
for (const [look, list] of screenshots) {
  const sheets = await writeSheets(guide, look, list);
  console.log(`${look.look}: ${list.length} pages on ${sheets} sheets`);
}
await guide.close();
console.log(
  `build/screenshots; ${guide.problems.length} problems\n${guide.problems.join("\n")}`.trim(),
);
// Errors of the pages fail the command, because screenshots do not show them.
process.exitCode = guide.problems.length > 0 ? 1 : 0;
