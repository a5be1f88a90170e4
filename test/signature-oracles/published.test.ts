import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { deliveryErrors } from '../../domain/webhook-deliveries.ts';
import { eventTypes } from '../../domain/statuses.ts';
import { parseAllowList } from '../../runtime/egress/addresses.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import { sendWebhook } from '../../runtime/send-webhook.ts';
import { standardSignature, webhookSignature } from '../../runtime/sign-webhook.ts';
import { needs } from '../support/needs.ts';
import { startReceiver, type Received } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { byPython, runProgram } from './hmac-programs.ts';
import { byStripe, tampered } from './verifiers.ts';

/** From GitHub's "Validating webhook deliveries": an HMAC alone, without a time. */
const github = {
  secret: "It's a Secret to Everybody",
  body: 'Hello, World!',
  hex: '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
};

needs('python')(
  "Python's hmac is a valid oracle: it makes GitHub’s published signature",
  async (t) => {
    const made = await byPython(t)(Buffer.from(github.secret), Buffer.from(github.body));
    t.is(made, github.hex);
  },
);

test('signatures match the ones that Hook0 published for the same construction, and our own test vectors', (t) => {
  const ours = 'whsec_test_secret_1';
  const vectors = [
    // output-worker/src/work.rs of Hook0, its v0 scheme.
    {
      secret: 'secret',
      at: 1_636_936_200,
      body: 'hello !',
      hex: '1b3d69df55f1e52f05224ba94a5162abeb17ef52cd7f4948c390f810d6a87e98',
    },
    // Made with Python's hmac.
    {
      secret: ours,
      at: 1_700_000_000,
      body: '{"id":"evt_1","type":"post.published"}',
      hex: '925d7cca6f2610983495e289b8a388f9e7f2877677e808519e715dd767f0760f',
    },
    {
      secret: ours,
      at: 1_700_000_000,
      body: '{"text":"héllo 🌍 日本"}',
      hex: '9ea93bfd708da9f5e71b90a9476c9d0b65b5cbef6bc3f8707d2cd06f076d2b1a',
    },
  ];
  for (const vector of vectors) {
    t.is(webhookSignature(vector.secret, vector.at, vector.body), `sha256=${vector.hex}`);
  }
});

test('the second signature matches the one that Standard Webhooks published', (t) => {
  const theirs = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const signed = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1_614_265_330,
    body: '{"test": 2432232314}',
  };
  t.is(standardSignature(theirs, signed), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('each of our secrets is a key of 24 bytes for the library of Standard Webhooks, with any letters', (t) => {
  const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const signed = { id: 'evt_1', timestamp: 1_700_000_000, body: '{"text":"日本"}' };
  for (let from = 0; from < letters.length; from += 1) {
    const ours = `whsec_${`${letters}${letters}`.slice(from, from + 32)}`;
    const theirs = new Webhook(ours);
    const at = new Date(signed.timestamp * 1000);
    t.is(standardSignature(ours, signed), theirs.sign(signed.id, at, signed.body));
    t.is(Buffer.from(ours.slice(6), 'base64').length, 24);
  }
});

// Examples from our own documentation page.

const page = readFileSync(new URL('../../docs/guides/webhooks.md', import.meta.url), 'utf8');

/** The code blocks of this language. */
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

/** Whether the page's own code accepts a request at this time. */
type Judge = (secret: string, request: Received, nowS: number) => boolean | Promise<boolean>;

/** The expected results of the page's code for the page's example and for changed versions of it. */
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

test('the page’s example matches a real delivery, to the byte', async (t) => {
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

test('two libraries accept the page’s example', (t) => {
  const { id } = JSON.parse(body);
  const signed = new Webhook(secret).sign(id, new Date(atS * 1000), body);
  t.is(headers['webhook-signature'], signed);
  t.true(byStripe(atS * 1000)(secret, example));
});

test('the page’s TypeScript accepts the example, and no changed version of it', async (t) => {
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
  'the page’s Python accepts the example, and no changed version of it',
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

test('the page has exactly the events and codes of the API', (t) => {
  const listed = (pattern: RegExp): string[] =>
    [...page.matchAll(/^- `(?<name>[^`]+)`: /gmv)]
      .map(({ groups }) => groups?.['name'] ?? '')
      .filter((name) => pattern.test(name));
  t.deepEqual(listed(/^[a-z]+\.[a-z_]+$/v), [...eventTypes]);
  t.deepEqual(listed(/^[a-z_]+$/v).toSorted(), [...deliveryErrors].toSorted());
});
