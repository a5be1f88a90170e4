import { isWebAddress, type Segment } from '../segment.ts';

/**
 * Matches an escaped character, an element of LinkedIn's format, or an unescaped reserved character.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format
 */
const piece =
  /\\(?<escaped>[\\\|\{\}@\[\]\(\)<>#*_~])|\{hashtag\|\\?[#＃]\|(?<template>[\p{L}\p{M}\p{N}]+)\}|@\[(?<name>[^\[\]\\]+)\]\((?<urn>urn:li:(?:person|organization):\w+)\)|#(?<tag>[\p{L}\p{M}\p{N}]+)|(?<reserved>[\|\{\}@\[\]\(\)<>#*_~])/gv;

type Piece = Segment & { readonly tag?: string };

/** The part that LinkedIn shows of a little text: up to the first unescaped reserved character. */
function piecesOf(little: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const { 0: whole, index, groups = {} } of little.matchAll(piece)) {
    pieces.push({ text: little.slice(end, index) });
    const tag = groups['template'] ?? groups['tag'];
    if (groups['reserved'] !== undefined) {
      return pieces;
    }
    if (tag !== undefined) {
      pieces.push({ text: `#${tag}`, tag });
    } else {
      pieces.push({ text: groups['escaped'] ?? groups['name'] ?? '' });
    }
    end = index + whole.length;
  }
  return [...pieces, { text: little.slice(end) }];
}

/** The displayed text. */
export const shownText = (little: string): string =>
  piecesOf(little)
    .map(({ text }) => text)
    .join('');

const link = /https?:\/\/[^\s<>"]*[^\s<>".,:;!?'\)\]\}]/giv;

/** The displayed text with its hashtags and links. @param tagPath Returns the path of a tag's page. */
export function segmentsOf(little: string, tagPath: (tag: string) => string): Segment[] {
  const segments: Segment[] = [];
  let plain = '';
  const flush = () => {
    segments.push(...linksIn(plain));
    plain = '';
  };
  for (const { text, tag } of piecesOf(little)) {
    if (tag === undefined) {
      plain += text;
    } else {
      flush();
      segments.push({ text, href: tagPath(tag) });
    }
  }
  flush();
  return segments;
}

/** The links of a plain text, such as a comment's. */
export function linksIn(text: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const { 0: href, index } of text.matchAll(link)) {
    if (isWebAddress(href)) {
      segments.push({ text: text.slice(end, index) }, { text: href, href });
      end = index + href.length;
    }
  }
  return [...segments, { text: text.slice(end) }].filter((segment) => segment.text !== '');
}
