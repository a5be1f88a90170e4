import type { TestFn } from 'ava';
import { NetworkError, type SentPart } from '../../networks/network.ts';
import { freePort } from '../../scripts/ports.ts';
import { lossyProxy, type Mishap } from '../support/lossy-proxy.ts';
import { textWithPictures, type Bench } from './bench.ts';
import { openConnection } from './connection.ts';
import { carriesMedia } from './media-suite.ts';
import { keepsChoices } from './options-suite.ts';
import { removesPosts } from './removal-suite.ts';
import { nextStep, publish, sendStep, throughDatabase } from './publish.ts';

/** The common suite: the behaviour of every network, checked through its other clients. */
export function passesAsNetwork(testIt: TestFn, bench: Bench): void {
  publishes(testIt, bench);
  publishesParts(testIt, bench);
  settlesLostAnswers(testIt, bench);
  namesFailures(testIt, bench);
  namesRateLimits(testIt, bench);
  carriesMedia(testIt, bench);
  keepsChoices(testIt, bench);
  removesPosts(testIt, bench);
}

function publishes(
  testIt: TestFn,
  { network, makeAccount, shape = textWithPictures }: Bench,
): void {
  testIt('a post is live at its address', async (t) => {
    const { account, posts, textAt } = await makeAccount(t);
    const text = `Hello ${crypto.randomUUID()} 👩‍👩‍👧‍👦`;
    const parts = await shape.parts([text]);
    const { sent } = await publish(network, openConnection(t, account), parts);

    t.deepEqual(await posts(), [{ remoteId: sent[0]?.remoteId ?? '', text, parentId: null }]);
    t.true((await textAt(sent[0]?.url ?? '')).includes(text));
  });

  testIt(
    'a text is validated before it is sent, with the limit and the actual length',
    async (t) => {
      const errorsOf = async (text: string) => {
        const [part] = await shape.parts([text]);
        const { media = [], options = {} } = part ?? {};
        const content = { texts: [text], media: [media], video: null, options };
        return network.rules.validate(content, {}).errors;
      };
      t.deepEqual(await errorsOf('short'), []);
      t.regex((await errorsOf('x'.repeat(100_000)))[0] ?? '', /takes \d+ .*100000\.$/);
    },
  );

  testIt(
    'an attempt that was delayed before its request sends nothing, and reports it',
    async (t) => {
      const { account, posts } = await makeAccount(t);
      const late = openConnection(t, account, { mayCreate: () => false });
      const attempt = publish(network, late, await shape.parts(['Too late']));
      const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
      t.like(error, { code: 'network_unavailable', accepted: 'no' });
      t.deepEqual(await posts(), []);
    },
  );

  testIt('prepared parts are the same after a round trip through the database', async (t) => {
    const { account } = await makeAccount(t);
    const parts = await shape.parts(['One', 'Two']);
    const prepared = await network.prepare(openConnection(t, account), parts, Date.now());

    t.deepEqual(throughDatabase(prepared), prepared);
    t.like(prepared, parts);
  });
}

/** The parts of threads and first comments. */
function publishesParts(
  testIt: TestFn,
  { network, makeAccount, shape = textWithPictures }: Bench,
): void {
  if (network.rules.threads) {
    testIt('a thread of three is live in order, each part at its own address', async (t) => {
      const { account, posts, textAt } = await makeAccount(t);
      const parts = await shape.parts(['First of three', 'Second of three', 'Third of three']);
      const { sent } = await publish(network, openConnection(t, account), parts);

      const [first, second, third] = sent.map(({ remoteId }) => remoteId);
      t.deepEqual(await posts(), [
        { remoteId: first ?? '', text: 'First of three', parentId: null },
        { remoteId: second ?? '', text: 'Second of three', parentId: first ?? '' },
        { remoteId: third ?? '', text: 'Third of three', parentId: second ?? '' },
      ]);
      t.true((await textAt(sent[2]?.url ?? '')).includes('Third of three'));
    });
  }

  if (network.rules.comments) {
    testIt('a first comment is live under its post, at its own address', async (t) => {
      const { account, posts, textAt } = await makeAccount(t);
      const parts = await shape.parts(['The post', 'Its comment: a_b (c) #tag']);
      const { sent } = await publish(network, openConnection(t, account), parts);

      const [post, comment] = sent.map(({ remoteId }) => remoteId);
      t.deepEqual(await posts(), [
        { remoteId: post ?? '', text: 'The post', parentId: null },
        { remoteId: comment ?? '', text: 'Its comment: a_b (c) #tag', parentId: post ?? '' },
      ]);
      t.not(sent[1]?.url, sent[0]?.url);
      t.true((await textAt(sent[1]?.url ?? '')).includes('Its comment: a_b (c) #tag'));
    });
  }
}

function settlesLostAnswers(
  testIt: TestFn,
  { network, makeAccount, creates, shape = textWithPictures }: Bench,
): void {
  const doubtful: readonly { when: string; mishap: Mishap }[] = [
    { when: 'the answer is lost', mishap: { kind: 'lost' } },
    {
      when: 'a proxy answers 502 for a server that posted',
      mishap: { kind: 'overruled', answer: { status: 502, body: 'Bad Gateway' } },
    },
    {
      when: 'the answer is invalid',
      mishap: { kind: 'overruled', answer: { status: 200, body: '<html>' } },
    },
  ];
  for (const { when, mishap } of doubtful) {
    testIt(`when ${when}, the thread is found and continues, with every part once`, async (t) => {
      const { account, posts } = await makeAccount(t);
      const proxy = await lossyProxy(t, account.baseUrl);
      const connection = openConnection(t, account, { baseUrl: proxy.url });
      const parts = await shape.parts([`A ${when}`, `B ${when}`]);
      const prepared = throughDatabase(await network.prepare(connection, parts, Date.now()));
      const step = nextStep(network, prepared, []);
      proxy.plan(creates, mishap);
      const sent: SentPart[] = [];
      const first = await sendStep(network, connection, step).catch(async (error: unknown) => {
        t.like(error, { name: 'NetworkError', accepted: 'unknown' });
        const finding = await network.reconcile(connection, step);
        t.is(finding.kind === 'found' && finding.candidates.length, 1);
        return finding.kind === 'found' ? (finding.candidates[0] ?? []) : [];
      });
      sent.push(...first);
      while (sent.length < prepared.length) {
        sent.push(...(await sendStep(network, connection, nextStep(network, prepared, sent))));
      }

      t.deepEqual(
        (await posts()).map(({ remoteId, text }) => ({ remoteId, text })),
        sent.map(({ remoteId }, index) => ({ remoteId, text: parts[index]?.text ?? '' })),
      );
    });
  }

  testIt(
    'a part that was never sent is absent, also among other posts of the account',
    async (t) => {
      const { account } = await makeAccount(t);
      const connection = openConnection(t, account);
      await publish(network, connection, await shape.parts(['Before']));
      const parts = await shape.parts(['Never sent']);
      const [prepared] = await network.prepare(connection, parts, Date.now());
      await publish(network, connection, await shape.parts(['After']));

      const step = nextStep(network, prepared ? [prepared] : [], []);
      t.like(await network.reconcile(connection, step), { kind: 'absent' });
    },
  );
}

function namesFailures(testIt: TestFn, bench: Bench): void {
  const { network, makeAccount, tooLong, wrongCredentials, shape = textWithPictures } = bench;

  testIt("a text over the limit is refused with the network's message", async (t) => {
    const { account, posts } = await makeAccount(t);
    const attempt = publish(network, openConnection(t, account), await shape.parts([tooLong]));
    const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
    t.like(error, { code: 'content_refused', accepted: 'no' });
    t.regex(error.message, /".+"/);
    t.deepEqual(await posts(), []);
  });

  testIt('wrong credentials lose access, and are not in the message', async (t) => {
    const { account, posts } = await makeAccount(t);
    const without = { credentials: wrongCredentials, session: null };
    const parts = await shape.parts(['Hi']);
    const prepared = await network.prepare(openConnection(t, account), parts, Date.now());
    const attempt = sendStep(
      network,
      openConnection(t, account, without),
      nextStep(network, prepared, []),
    );
    const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
    t.like(error, { code: 'access_lost', accepted: 'no' });
    for (const secret of Object.values(Object(wrongCredentials))) {
      t.false(error.message.includes(String(secret)));
    }
    t.deepEqual(await posts(), []);
  });

  testIt('a network that cannot be reached has certainly not posted', async (t) => {
    const { account } = await makeAccount(t);
    const parts = await shape.parts(['Hi']);
    const prepared = await network.prepare(openConnection(t, account), parts, Date.now());
    const away = openConnection(t, account, { baseUrl: `http://127.0.0.1:${await freePort()}` });
    const step = nextStep(network, prepared, []);
    const sent = await t.throwsAsync(sendStep(network, away, step), { instanceOf: NetworkError });
    t.like(sent, { code: 'network_unavailable', accepted: 'no' });

    const looked = await t.throwsAsync(network.reconcile(away, step), { instanceOf: NetworkError });
    t.like(looked, { code: 'network_unavailable', accepted: 'unknown' });
  });
}

function namesRateLimits(testIt: TestFn, bench: Bench): void {
  const { network, makeAccount, creates, resetHeaders, shape = textWithPictures } = bench;

  testIt('a rate limit says when the network accepts posts again', async (t) => {
    const { account, posts } = await makeAccount(t);
    const proxy = await lossyProxy(t, account.baseUrl);
    const resetAtMs = Math.ceil(Date.now() / 1000) * 1000 + 300_000;
    const headers = resetHeaders(resetAtMs);
    proxy.plan(creates, { kind: 'refused', answer: { status: 429, headers, body: '{}' } });
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    const attempt = publish(network, connection, await shape.parts(['Hi']));
    const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
    t.like(error, { code: 'rate_limited', accepted: 'no', retryAtMs: resetAtMs });
    t.deepEqual(await posts(), []);
  });

  testIt(
    'a rate limit of a minute ends in a minute, whatever the clock of the worker',
    async (t) => {
      const { account } = await makeAccount(t);
      const proxy = await lossyProxy(t, account.baseUrl);
      const headers = { 'retry-after': '60' };
      proxy.plan(creates, { kind: 'refused', answer: { status: 429, headers, body: '{}' } });
      const now = new Date(Date.now() - 600_000);
      const connection = openConnection(t, account, { baseUrl: proxy.url, now: () => now });
      const attempt = publish(network, connection, await shape.parts(['Hi']));
      const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
      t.is(error.retryAtMs, now.getTime() + 60_000);
    },
  );
}
