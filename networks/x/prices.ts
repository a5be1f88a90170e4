import { text as readText, type Env } from '../../runtime/config/read-values.ts';
import type { Content } from '../content-rules.ts';
import { countOf } from '../validation/amounts.ts';
import { isImage } from '../validation/files.ts';
import { findLinks } from './find-links.ts';

/** What X charges the app that publishes, in US dollars a post; 0 is nothing. */
export type Prices = { readonly post: number; readonly linkPost: number };

/** As of 20 April 2026. Source: https://docs.x.com/x-api/getting-started/pricing */
const listPrices: Prices = { post: 0.015, linkPost: 0.2 };
const altTextPrice = 0.005;

/** @param problems Takes a sentence for each setting that is no amount of money. */
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

/** What the posts of a thread cost, as a sentence; none when they cost nothing. */
export function priceWarnings(
  { texts, media }: Pick<Content, 'texts' | 'media'>,
  prices: Prices,
): string[] {
  const posts = Math.max(1, texts.length);
  const linked = texts.filter((text) => hasLink(text)).length;
  // The alt texts of videos do not go out.
  const described = media.flat().filter((file) => isImage(file) && file.altText).length;
  const isFree = prices.post === 0 && prices.linkPost === 0;
  const price =
    linked * prices.linkPost +
    (posts - linked) * prices.post +
    (isFree ? 0 : described * altTextPrice);
  if (price === 0) {
    return [];
  }

  const what = posts === 1 ? 'this post' : `these ${posts} posts`;
  const links = posts === 1 ? 'it has a link' : countOf(linked, 'has a link', 'have a link');
  const altTexts = `${countOf(described, 'alt text')} ${described === 1 ? 'is' : 'are'} charged too`;
  const why = [...(linked > 0 ? [links] : []), ...(described > 0 ? [altTexts] : [])].join(', and ');
  return [`X charges the app that publishes ${what} about ${amountOf(price)}${why && `: ${why}`}.`];
}

const hasLink = (text: string): boolean => findLinks(text).next().done !== true;

const amountOf = (price: number): string =>
  `$${price.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 4 })}`;
