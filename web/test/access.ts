/** What a page offers to readers who do not see it, do not use a mouse, or print it. */
import axe from "axe-core";
import type { Page } from "playwright-core";

/** The rules of WCAG 2.2, levels A and AA, without exceptions. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"];

/** Opens everything that is folded, so that nothing is left unseen. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    // What was folded is made now, and fitted to its place in the frames that follow.
    for (let frame = 0; frame < 4; frame += 1) await new Promise((done) => requestAnimationFrame(done));
  });
}

/** Every rule that an element breaks, with the element. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async (rules) => {
    const { axe: checker } = window as unknown as { axe: typeof axe };
    const { violations: broken } = await checker.run(document, { runOnly: rules, resultTypes: ["violations"] });
    return broken.flatMap(({ id, nodes }) =>
      nodes.map(({ target, any, all, none }) => {
        const why = [...any, ...all, ...none].map(({ message }) => message).join("; ");
        return `${id}: ${target.join(" ")}: ${why}`;
      }),
    );
  }, RULES);
}

/**
 * Texts without contrast where axe does not decide: it gives up on backgrounds with a gradient, on texts of one letter and on texts of
 * pictures. Gradients are taken away (they shade edges of what scrolls), as is what stands over what scrolls, and stripes are mixed into
 * the colour below them.
 */
export async function weakTexts(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const style = document.head.appendChild(document.createElement("style"));
    const striped = [...document.querySelectorAll<HTMLElement>(".segment.hatched")].map((piece) => {
      const { backgroundColor, backgroundImage } = getComputedStyle(piece);
      const stripe = /rgba?\([^)]*\)(?=( 3px)? 6px)/.exec(backgroundImage)?.[0] ?? "no stripe";
      piece.style.backgroundColor = `color-mix(in srgb, ${backgroundColor} ${100 - 100 * alpha(stripe)}%, ${stripe.replace(/,\s*[\d.]+\)$/, ")").replace("rgba", "rgb")})`;
      return { piece, backgroundColor };
    });
    style.textContent = `*, *::before, *::after { background-image: none !important; }
      .table, .wide, .tall { max-height: none !important; overflow: visible !important; }
      main { max-width: none !important; }
      th, .contents { position: static !important; }`;
    const { axe: checker } = window as unknown as { axe: typeof axe };
    const { violations: broken, incomplete } = await checker.run(document, { runOnly: ["color-contrast"], resultTypes: ["violations", "incomplete"] });
    const weak = [...broken, ...incomplete].flatMap(({ nodes }) =>
      nodes.flatMap(({ target, any }) =>
        any.flatMap(({ data, message }) => {
          const { contrastRatio, expectedContrastRatio, messageKey } = data as Record<string, string | number | null>;
          const isEnough = Number(contrastRatio ?? 0) >= parseFloat(String(expectedContrastRatio ?? 99));
          return isEnough || document.querySelector(target.join(" "))?.closest("svg") ? [] : [`${target.join(" ")}: ${messageKey ?? ""} ${message}`];
        }),
      ),
    );
    for (const { piece, backgroundColor } of striped) piece.style.backgroundColor = backgroundColor;
    for (const text of document.querySelectorAll("svg text")) {
      if (!text.checkVisibility()) continue;
      const below = ancestors(text).map((element) => getComputedStyle(element).backgroundColor).find((color) => alpha(color) === 1) ?? "rgb(255, 255, 255)";
      const { fill } = getComputedStyle(text);
      if (contrast(fill, below) < 4.5) weak.push(`${text.textContent}: ${fill} on ${below}`);
    }
    style.remove();
    return weak;

    function alpha(color: string): number {
      const parts = color.match(/[\d.]+/g) ?? [];
      return parts.length > 3 ? Number(parts[3]) : 1;
    }
    function ancestors(element: Element): Element[] {
      return element.parentElement ? [element.parentElement, ...ancestors(element.parentElement)] : [];
    }
    function contrast(one: string, other: string): number {
      const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
      return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
    }
    function luminance(color: string): number {
      const linear = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
        const share = Number(part) / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * (linear[0] ?? 0) + 0.7152 * (linear[1] ?? 0) + 0.0722 * (linear[2] ?? 0);
    }
  });
}

export interface Stop {
  /** What has the focus, in words. */
  name: string;
  /** Number among all that can have it, in the order of the document. */
  place: number;
  box: { left: number; top: number; right: number; bottom: number };
  isMarked: boolean;
  isCovered: boolean;
}

/** Numbers everything that Tab has to reach; says how much that is. */
export async function numberControls(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const all = [...document.querySelectorAll<HTMLElement>("a[href], button, input, select, textarea, summary, [tabindex]")];
    const reached = all.filter((element) => {
      if (element.tabIndex < 0 || !element.checkVisibility({ visibilityProperty: true })) return false;
      // Of radio buttons Tab reaches the chosen one, and arrow keys the others.
      return !(element instanceof HTMLInputElement && element.type === "radio" && !element.checked);
    });
    reached.forEach((element, index) => element.setAttribute("data-stop", String(index)));
    return reached.map((element) => `${element.tagName.toLowerCase()} ${(element.textContent || element.getAttribute("aria-label") || "").slice(0, 40)}`);
  });
}

/** Presses the key until the focus leaves the page; says where it was. */
export async function walk(page: Page, key: "Tab" | "Shift+Tab", most: number): Promise<Stop[]> {
  const stops: Stop[] = [];
  while (stops.length <= most) {
    await page.keyboard.press(key);
    const stop = await page.evaluate((): Stop | null => {
      const at = document.activeElement;
      if (!(at instanceof HTMLElement) || at === document.body) return null;
      // A radio button is seen as the word beside it, a map by its frame.
      const shown = [at, at.nextElementSibling, at.parentElement].filter((one) => one instanceof HTMLElement);
      const marked = shown.find((one) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(one);
        return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
      });
      const box = (marked ?? at).getBoundingClientRect();
      const seen = document.elementFromPoint(
        Math.min(innerWidth - 1, Math.max(0, box.left + Math.min(box.width / 2, 8))),
        Math.min(innerHeight - 1, Math.max(0, box.top + Math.min(box.height / 2, 8))),
      );
      const isCovered = !seen || !(marked ?? at).contains(seen) && !seen.contains(at) && !at.contains(seen);
      const from = (edge: number, scrolled: number): number => Math.round(edge + scrolled);
      return {
        name: `${at.tagName.toLowerCase()} ${(at.textContent || at.getAttribute("aria-label") || "").slice(0, 40)}`,
        place: Number(at.getAttribute("data-stop") ?? -1),
        box: { left: from(box.left, scrollX), right: from(box.right, scrollX), top: from(box.top, scrollY), bottom: from(box.bottom, scrollY) },
        isMarked: marked !== undefined,
        isCovered,
      };
    });
    if (!stop || stops.some(({ place }) => place === stop.place)) break;
    stops.push(stop);
  }
  return stops;
}

/** Elements that move by themselves, or slide to where they are asked for. */
export async function moving(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("*")].flatMap((element) => {
      const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(element);
      const isStill = animationName === "none" && /^(0s(, )?)+$/.test(transitionDuration) && scrollBehavior === "auto";
      return isStill ? [] : [`${element.tagName} ${element.className}`];
    }),
  );
}

/** What reaches over the right edge of the page, or is cut by its own frame: the outermost elements. */
export async function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const right = document.documentElement.clientWidth;
    const said = (element: Element): string => `${element.tagName} ${element.getAttribute("class") ?? ""}: ${(element.textContent ?? "").slice(0, 40)}`;
    const found: string[] = [];
    if (document.documentElement.scrollWidth > right) found.push(`the page is ${document.documentElement.scrollWidth} px wide and has ${right}`);
    for (const element of document.querySelectorAll("body *")) {
      if (!element.checkVisibility() || element.closest("svg, .hidden")) continue;
      const { overflowX } = getComputedStyle(element);
      if (overflowX === "auto" && element.scrollWidth > element.clientWidth + 1) found.push(`scrolls: ${said(element)}`);
    }
    return found;
  });
}

/** Pictures that the end of a sheet may cut: they, and what they stand in, are too high for one or may be broken. */
export async function cutPictures(page: Page, sheet: number): Promise<string[]> {
  return page.evaluate((most) => {
    const isWhole = (element: Element | null): boolean => {
      if (!element) return false;
      const fits = element.getBoundingClientRect().height <= most;
      return fits && (getComputedStyle(element).breakInside === "avoid" || isWhole(element.parentElement));
    };
    const pictures = [...document.querySelectorAll("svg, canvas, .track, .columns")].filter((one) => one.checkVisibility());
    return pictures.filter((one) => !isWhole(one)).map((one) => `${one.parentElement?.outerHTML.slice(0, 80)}`);
  }, sheet);
}
