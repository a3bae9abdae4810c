// Finds the scroll shadows of elements: the shadows at edges that have more content behind them.
import type { Locator } from "playwright-core";

/**
 * Returns whether the left and the right edge of an element are shaded at half its height. Nothing
 * else may be drawn there.
 */
export async function scrollShadowsOf(element: Locator): Promise<[left: boolean, right: boolean]> {
  const picture = await element.screenshot();
  return await element.evaluate(async (_, base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d", {
      willReadFrequently: true,
    }) as OffscreenCanvasRenderingContext2D;
    context.drawImage(bitmap, 0, 0);
    const at = (x: number) => [...context.getImageData(x, bitmap.height / 2, 1, 1).data].join();
    const plain = at(bitmap.width / 2);
    return [at(2) !== plain, at(bitmap.width - 3) !== plain];
  }, picture.toString("base64"));
}
