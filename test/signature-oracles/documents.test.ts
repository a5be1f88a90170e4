import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { deliveryErrors } from '../../domain/delivery-error.ts';
import { eventTypes } from '../../domain/events.ts';
import { parseAllowList } from '../../runtime/egress/allow-list.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import { sendWebhook } from '../../runtime/webhook-request.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startReceiver, type Received } from '../support/receiver.ts';
import { runProgram } from './run-program.ts';
import { byStripe, tampered } from './verifiers.ts';
import { needs } from '../support/needs.ts';

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');

/** The code between the fences of this language. */
const fenced = (language: string): string =>
  new RegExp(`\`\`\`${language}\n(?<code>.*?)\n\`\`\``, 'sv').exec(page)?.groups?.['code'] ?? '';

const secret = /`(?<secret>whsec_[0-9A-Za-z]{32})`/v.exec(page)?.groups?.['secret'] ?? '';
const [head = '', body = ''] = fenced('http').split('\n\n');
const named = head
  .split('\n')
  .slice(1)
  .map((line) => line.split(': ') as [string, string]);
const headers = Object.fromEntries(named.map(([name, value]) => [name.toLowerCase(), value]));
const example: Received = { headers, body };
const atS = Number(headers['service-timestamp']);

/** Whether the page's own code takes a request at this moment. */
type Judge = (secret: string, request: Received, nowS: number) => boolean | Promise<boolean>;

/** What the page's code must say of the page's example, and of what could be made of it. */
const cases: readonly (readonly [what: string, secret: string, Received, nowS: number, boolean])[] =
  [
    ['the example', secret, example, atS, true],
    ['five minutes later', secret, example, atS + 300, true],
    ['a little later', secret, example, atS + 301, false],
    ['much earlier', secret, example, atS - 301, false],
    ['another secret', `${secret}x`, example, atS, false],
    ['no headers', secret, { headers: {}, body }, atS, false],
    ['no time', secret, { headers: { ...headers, 'service-timestamp': 'soon' }, body }, atS, false],
    ...Object.entries(tampered(example)).map(
      ([how, changed]) => [how, secret, changed, atS, false] as const,
    ),
  ];

test('the example of the page is what goes out, to the byte', async (t) => {
  const receiver = await startReceiver(t);
  const egress = createEgress({ allow: parseAllowList(`127.0.0.1/32:${receiver.port}`) });
  t.teardown(() => egress.close());
  const { id, type } = JSON.parse(body);
  await sendWebhook(
    egress,
    { url: receiver.url, eventId: id, eventType: type, body },
    { current: { sealed: secret, hint: '' }, next: null },
    (sealed) => sealed,
    new Date(atS * 1000),
  );

  const [sent] = receiver.received;
  t.is(sent?.body, body);
  t.is(named.length, 9);
  for (const [name, value] of Object.entries(headers)) {
    t.is(sent?.headers[name], value, name);
  }
});

test('the example of the page is right in the judgement of two libraries', (t) => {
  const { id } = JSON.parse(body);
  const signed = new Webhook(secret).sign(id, new Date(atS * 1000), body);
  t.is(headers['webhook-signature'], signed);
  t.true(byStripe(atS * 1000)(secret, example));
});

test('the TypeScript of the page takes the example, and nothing that was made of it', async (t) => {
  const file = path.join(await temporaryFolder(t), 'receiver.mts');
  await writeFile(file, fenced('ts'));
  const { isFromPunctual } = await import(file);
  const judge: Judge = (key, request, nowS) =>
    isFromPunctual(key, request.headers, Buffer.from(request.body), nowS);
  for (const [what, key, request, nowS, wanted] of cases) {
    t.is(await judge(key, request, nowS), wanted, what);
  }
});

const harness = `
import json, sys
sys.path.insert(0, sys.argv[1])
from receiver import is_from_punctual

class AnyCase(dict):
    def get(self, name, default=None):
        return super().get(name.lower(), default)

answers = []
for case in json.load(sys.stdin):
    headers = AnyCase(case["headers"])
    answers.append(is_from_punctual(case["secret"], headers, case["body"].encode(), case["now"]))
print(json.dumps(answers))
`;

needs('python')(
  'the Python of the page takes the example, and nothing that was made of it',
  async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(path.join(folder, 'receiver.py'), fenced('python'));
    const input = JSON.stringify(
      cases.map(([, key, request, now]) => ({ ...request, secret: key, now })),
    );
    const printed = await runProgram('python3', ['-c', harness, folder], input);
    const answers: boolean[] = JSON.parse(printed);
    for (const [index, [what, , , , wanted]] of cases.entries()) {
      t.is(answers[index], wanted, what);
    }
  },
);

test('the page has every event and every code, and no other', (t) => {
  const first = (heading: string): string[] => {
    const rows = page.split(`| ${heading} `)[1]?.split('\n\n')[0] ?? '';
    return [...rows.matchAll(/^\| `(?<name>[^`]+)`/gmv)].map(
      ({ groups }) => groups?.['name'] ?? '',
    );
  };
  t.deepEqual(first('event'), [...eventTypes]);
  t.deepEqual(first('code').toSorted(), [...deliveryErrors].toSorted());
});
