import { readFileSync } from 'node:fs';
import test from 'ava';
import { createPostSchema } from '../../api/posts/schemas.ts';
import { createEndpointSchema } from '../../api/webhooks/schemas.ts';
import { channelErrorCodes, errorMeanings } from '../../domain/channel-error.ts';
import { parser } from '../../runtime/parser.ts';

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

test('the API takes the body of each sample on the page', (t) => {
  const parsers = new Map<string, (value: unknown) => unknown>([
    ['posts', parser(createPostSchema)],
    ['webhooks', parser(createEndpointSchema)],
  ]);
  const samples = [...page.matchAll(/curl "\$API\/(?<call>\w+)"[^\n]*\\\n +-d '(?<body>.*)'$/gmv)];
  t.is(samples.length, 5);
  for (const { groups: { call = '', body = '' } = {} } of samples) {
    const filled = body.replaceAll(/'\$[A-Z]+'/gv, crypto.randomUUID());
    t.notThrows(() => parsers.get(call)?.(JSON.parse(filled)), body);
  }
});
