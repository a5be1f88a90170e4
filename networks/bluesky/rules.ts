import type { Rules } from '../network.ts';

/** Both count: a text of emoji families reaches the bytes first. Source: lexicon `app.bsky.feed.post`. */
const maxGraphemes = 300;
const maxBytes = 3000;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

export const rules: Rules = {
  checkText(text: string): string | null {
    const length = [...graphemes.segment(text)].length;
    if (length > maxGraphemes) {
      return `The text is too long for Bluesky: it takes ${maxGraphemes} characters, and this is ${length}.`;
    }

    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes) {
      return `The text is too long for Bluesky: it takes ${maxBytes} bytes of UTF-8, and this is ${bytes}.`;
    }

    return null;
  },
};
