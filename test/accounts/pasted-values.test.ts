import test from 'ava';
import { checkValues } from '../../services/channels/create-link.ts';

const handle = { label: 'Your handle', placeholder: 'me.bsky.social', required: true };
const check = (given: string) =>
  checkValues('bluesky', { fields: { handle } }, { handle: given })['handle'];

test('invisible characters in what people paste are removed', (t) => {
  for (const given of [
    '\u202Ame.bsky.social\u202C',
    '\u2068me.bsky.social\u2069',
    '\u200Bme.bsky\u200B.social',
    'me.bsky.social\u200E ',
    '\uFEFF me.bsky.social\u00A0',
  ]) {
    t.is(check(given), 'me.bsky.social');
  }
});

test('a value of invisible characters alone counts as empty', (t) => {
  t.is(check('\u200B\u202C'), undefined);
});
