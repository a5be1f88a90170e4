import test from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { idBefore, isSameText } from '../../../networks/x/find-post.ts';
import type { XPost } from '../../../sandbox/x/post.ts';
import { presentText } from '../../../sandbox/x/text.ts';
import { family } from '../content.ts';
import { pictureFile } from '../files.ts';
import { nextStep, partsOf, partsWith, publish, sendStep, throughDatabase } from '../publish.ts';
import { passesAsNetwork } from '../suite.ts';
import { bench, x } from './bench.ts';
import { onBrokenLine, order } from './broken-line.ts';

passesAsNetwork(test, bench);

const timeline = { method: 'GET', path: /\/tweets\?/ };

// Duplicates.

test('a text that X refuses as a duplicate, and does not show, is a duplicate', async (t) => {
  const { sandbox, connection } = await onBrokenLine(t);
  await order(sandbox, 'duplicate');
  const error = await t.throwsAsync(publish(x, connection, partsOf('Again')), {
    instanceOf: NetworkError,
  });
  t.like(error, { code: 'duplicate', accepted: 'no', existing: undefined });
});

test('a live post that an earlier lookup missed is returned when X refuses it as a duplicate', async (t) => {
  const { connection, posts } = await onBrokenLine(t);
  const parts = partsOf('Once, at https://example.com');
  const prepared = throughDatabase(await x.prepare(connection, parts, Date.now()));
  const step = nextStep(x, prepared, []);
  const missed = await x.reconcile(connection, step);
  const noted = missed.kind === 'absent' ? (missed.data ?? []) : [];
  const sent = await sendStep(x, connection, step);

  const doubted = prepared.map((part, index) =>
    Object.assign({}, part, { data: noted[index] ?? part.data }),
  );
  const again = sendStep(x, connection, nextStep(x, throughDatabase(doubted), []));
  const error = await t.throwsAsync(again, { instanceOf: NetworkError });
  t.like(error, { code: 'duplicate', accepted: 'no', existing: sent });
  t.is((await posts()).length, 1);
});

test('an equal post from another client is a duplicate, and never becomes ours', async (t) => {
  const { connection } = await onBrokenLine(t);
  await publish(x, connection, partsOf('By hand'));

  const error = await t.throwsAsync(publish(x, connection, partsOf('By hand')), {
    instanceOf: NetworkError,
  });
  t.like(error, { code: 'duplicate', accepted: 'no', existing: undefined });
});

// Lookups.

test('there is no lookup before a post, and a lookup reads one page', async (t) => {
  const { proxy, connection } = await onBrokenLine(t);
  const { prepared } = await publish(x, connection, partsOf('Hi'));
  t.is(proxy.seen.map(({ method }) => method).join(), 'POST');
  await x.reconcile(connection, nextStep(x, prepared, []));
  t.is(proxy.seen.length, 2);
  t.true(proxy.seen[1]?.path.includes('since_id='));
});

test('a lost post with a file is found although X does not name its files', async (t) => {
  const { proxy, account, connection } = await onBrokenLine(t);
  const parts = partsWith([await pictureFile()], 'With a picture');
  const { prepared, sent } = await publish(x, connection, parts);
  const since = '?post.fields=attachments,conversation_id,entities';
  const answer = await fetch(`${account.baseUrl}/2/users/${account.remoteId}/tweets${since}`, {
    headers: { authorization: 'Bearer demo' },
  });
  const body = (await answer.text()).replace(/"media_keys":\[[^\]]*\]/v, '"media_keys":null');
  t.true(body.includes('"media_keys":null'));
  proxy.plan(timeline, { kind: 'overruled', answer: { status: 200, body } });
  t.like(await x.reconcile(connection, nextStep(x, prepared, [])), {
    kind: 'found',
    candidates: [sent],
  });
});

test('ids encode the time as X’s do', (t) => {
  // An example from X's documentation, of a post from this second.
  const [id, madeMs] = [1_212_092_628_029_698_048n, Date.UTC(2019, 11, 31, 19, 26, 16)];
  t.true(BigInt(idBefore(madeMs)) < id);
  t.true(BigInt(idBefore(madeMs + 1000)) > id);
  t.is(idBefore(0), '1');
});

test('a lookup whose answer is incomplete proves nothing', async (t) => {
  const { proxy, connection } = await onBrokenLine(t);
  const { prepared } = await publish(x, connection, partsOf('Hi'));
  const step = nextStep(x, prepared, []);
  for (const body of [
    JSON.stringify({ data: [{ id: '5', text: 'Hi' }] }),
    JSON.stringify({ data: [{ id: 'x', text: 'Hi', conversation_id: '5' }] }),
    JSON.stringify({ errors: [{ title: 'Not Found Error' }] }),
    '<html>',
  ]) {
    proxy.plan(timeline, { kind: 'overruled', answer: { status: 200, body } });
    const error = await t.throwsAsync(x.reconcile(connection, step), { instanceOf: NetworkError });
    t.like(error, { code: 'network_unavailable', accepted: 'unknown' });
  }
});

test('an account with more new posts than a lookup may read stays unconfirmed', async (t) => {
  const { proxy, connection } = await onBrokenLine(t);
  const { prepared } = await publish(x, connection, partsOf('Hi'));
  const body = JSON.stringify({ data: [], meta: { next_token: 'more' } });
  proxy.plan(timeline, { kind: 'overruled', answer: { status: 200, body } });
  proxy.plan(timeline, { kind: 'overruled', answer: { status: 200, body } });
  const attempt = x.reconcile(connection, nextStep(x, prepared, []));
  t.like(await t.throwsAsync(attempt), { code: 'unconfirmed', accepted: 'unknown' });
});

type Shown = Parameters<typeof isSameText>[0];

const file = { id: '2', cid: 'bafkfile', type: 'image/png', altText: '' };

/** A post as X returns it, from the sandbox's version of a text. */
function shownAs(text: string, files: XPost['files'] = []): Shown {
  const post: XPost = {
    network: 'x',
    id: '1',
    text,
    createdAt: '2026-01-01T00:00:00.000Z',
    replyTo: null,
    conversationId: '1',
    files,
    isMadeWithAi: false,
    isPaidPartnership: false,
  };
  const { text: shown, urls } = presentText(post);
  const attachments = { media_keys: files.map(({ id }) => `3_${id}`) };
  return { id: '1', text: shown, conversation_id: '1', entities: { urls }, attachments };
}

const texts = [
  'Hello',
  'See https://example.com/a?b=1&c=2#d, and <b> & "more"',
  'example.com and www.example.org/path/, EXAMPLE.COM!',
  'https://example.com/a https://example.com/b https://example.com/a',
  `${family} 👍🏽🇫🇷 日本語 한국 Привет`,
  'Zoë — he\u0301llo #tag @demo $AAPL',
  'http://bücher.de/größe?q=ä%20b https://example.com/%zz',
  'https://example.com',
  '!?!',
  '👍',
  ' \n spaces\r\nand lines \n\n',
];
for (const text of texts) {
  test(`${JSON.stringify(text)} is found in X’s version of it`, (t) => {
    t.true(isSameText(shownAs(text.trim().normalize('NFC')), text));
    t.true(isSameText(shownAs(text.trim(), [file]), text), 'with a file');
  });
}

test('if X does not say whether a post has files, its text decides', (t) => {
  for (const text of ['Hello', 'See https://example.com', 'https://example.com/a?b']) {
    for (const files of [[], [file]]) {
      const shown = shownAs(text, files);
      const unknown = { ...shown, attachments: { media_keys: null } };
      t.true(isSameText(unknown, text), text);
      t.true(isSameText({ ...unknown, entities: { urls: null } }, text), `${text}, bare`);
      t.false(isSameText(unknown, 'Another'), text);
    }
  }
});

test('a text with one of X’s own links is found, whatever target X gives for the link', (t) => {
  const sent = 'Read https://t.co/AbCdEf1234 and https://example.com/a';
  const leadsTo = (
    expanded_url: string,
    text = 'Read https://t.co/AbCdEf1234 and https://t.co/x2',
  ) => ({
    id: '1',
    text,
    conversation_id: '1',
    entities: {
      urls: [
        { url: 'https://t.co/AbCdEf1234', expanded_url },
        { url: 'https://t.co/x2', expanded_url: 'https://example.com/a' },
      ],
    },
  });
  t.true(isSameText(leadsTo('https://elsewhere.example/page'), sent));
  t.true(isSameText(leadsTo('https://t.co/AbCdEf1234'), sent));
  t.false(
    isSameText(leadsTo('https://elsewhere.example/page', 'Read https://t.co/AbCdEf1234'), sent),
  );
  t.false(isSameText(leadsTo('https://elsewhere.example/page'), sent.replace('Read', 'Write')));
});

test('a post with only files has no text', (t) => {
  t.true(isSameText(shownAs('', [file, file]), ''));
  t.false(isSameText(shownAs('Words', [file]), ''));
});

const others: readonly (readonly [sent: string, shown: string])[] = [
  ['Hello', 'Hello 2'],
  ['Hello', 'Hello https://example.com'],
  ['See https://example.com/a', 'See https://example.com/b'],
  ['See https://example.com', 'See'],
  ['A https://a.de B https://b.de', 'A https://b.de B https://a.de'],
  ['👍', '👎'],
  ['!?!', '?!?'],
];
for (const [sent, shown] of others) {
  test(`"${shown}" is another post than "${sent}"`, (t) => {
    t.false(isSameText(shownAs(shown), sent));
  });
}

test('a link without a target from X matches any link, but must be a link', (t) => {
  const mute = (text: string): Shown => ({ ...shownAs(text), entities: {} });
  t.true(isSameText(mute('See https://example.com/a'), 'See https://example.com/a'));
  t.false(isSameText(mute('See https://example.com/a'), 'See'));
  const withFile = { ...shownAs('See', [file]), entities: {} };
  t.true(isSameText(withFile, 'See'), 'the last link leads to the files');
});
