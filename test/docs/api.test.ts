import { readFileSync } from 'node:fs';
import test from 'ava';
import { channelErrorCodes, errorMeanings } from '../../domain/channel-error.ts';

const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');

test('the page of the API says what each error_code means, as the OpenAPI document does', (t) => {
  const rows = [
    ...page.matchAll(/^\| `(?<code>\w+)` +\| (?<retry>yes|no) +\| (?<text>.*?) +\|$/gmv),
  ];
  t.deepEqual(
    rows.map(({ groups = {} }) => [groups['code'], groups['retry'] === 'yes', groups['text']]),
    channelErrorCodes.map((code) => [
      code,
      errorMeanings[code].retryable,
      errorMeanings[code].meaning,
    ]),
  );
});
