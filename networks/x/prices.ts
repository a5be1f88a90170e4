import { textSetting as readText, type Env } from '../../runtime/config/read-values.ts';
import type { Content } from '../content-rules.ts';
import { isImage } from '../validation/files.ts';
import { findLinks } from './find-links.ts';

/** X's charges to the publishing app, in US dollars per post; 0 for none. */
export type Prices = { readonly post: number; readonly linkPost: number };

/** As of 20 April 2026. Source: https://docs.x.com/x-api/getting-started/pricing */
const listPrices: Prices = { post: 0.015, linkPost: 0.2 };
const altTextPrice = 0.005;

/** @param problems Collects a sentence for each setting that is not an amount of money. */
export const readPrices = (env: Env, problems: string[]): Prices => ({
  post: dollars(env, 'PUNCTUAL_X_PRICE_POST', listPrices.post, problems),
  linkPost: dollars(env, 'PUNCTUAL_X_PRICE_LINK_POST', listPrices.linkPost, problems),
});

function dollars(env: Env, name: string, otherwise: number, problems: string[]): number {
  const given = readText(env, name, String(otherwise));
  if (!/^\d{1,4}(?:\.\d{1,4})?$/v.test(given)) {
    problems.push(`${name} must be an amount of US dollars such as ${otherwise}, not "${given}".`);
  }

  return Number(given);
}

/** The price of a thread, in US dollars. */
export function priceOf(
  { texts, media }: Pick<Content, 'texts' | 'media'>,
  prices: Prices,
): number {
  const posts = Math.max(1, texts.length);
  const linked = texts.filter((text) => hasLink(text)).length;
  // Alt texts of videos are not published.
  const described = media.flat().filter((file) => isImage(file) && file.altText).length;
  const isFree = prices.post === 0 && prices.linkPost === 0;
  const price =
    linked * prices.linkPost +
    (posts - linked) * prices.post +
    (isFree ? 0 : described * altTextPrice);
  return Math.round(price * smallestParts) / smallestParts;
}

/** Prices have four decimals; sums of them, as binary fractions, have more. */
const smallestParts = 10_000;

const hasLink = (text: string): boolean => findLinks(text).next().done !== true;
