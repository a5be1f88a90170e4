import { text as readText, type Env } from '../../runtime/config/read-values.ts';
import { countOf } from '../validation/amounts.ts';
import { findLinks } from './find-links.ts';

/** What X charges the app that publishes, in US dollars a post; 0 is nothing. */
export type Prices = { readonly post: number; readonly linkPost: number };

/** As of 20 April 2026. Source: https://docs.x.com/x-api/getting-started/pricing */
const listPrices: Prices = { post: 0.015, linkPost: 0.2 };

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
export function priceWarnings(texts: readonly string[], prices: Prices): string[] {
  const posts = Math.max(1, texts.length);
  const linked = texts.filter((text) => hasLink(text)).length;
  const price = linked * prices.linkPost + (posts - linked) * prices.post;
  if (price === 0) {
    return [];
  }

  const what = posts === 1 ? 'this post' : `these ${posts} posts`;
  const links =
    linked === 0
      ? ''
      : `: ${posts === 1 ? 'it has a link' : `${countOf(linked, 'has a link', 'have a link')}`}`;
  return [`X charges the app that publishes ${what} about ${amountOf(price)}${links}.`];
}

const hasLink = (text: string): boolean => findLinks(text).next().done !== true;

const amountOf = (price: number): string =>
  `$${price.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 4 })}`;
