import test from 'ava';
import { rules as mastodon } from '../../../networks/mastodon/rules.ts';
import { statusLength } from '../../../networks/mastodon/status-length.ts';
import { validateContent } from '../../../services/posts/validate-content.ts';

test('other calls are served between the channels of a post whose servers have different limits', async (t) => {
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn += 1;
    if (!isOver) {
      setImmediate(count);
    }
  };
  setImmediate(count);
  const turns: number[] = [];
  const validate: typeof mastodon.validate = (content, settings) => {
    turns.push(turn);
    return mastodon.validate(content, settings);
  };
  const channels = Array.from({ length: 30 }, (_, n) => ({
    id: String(n),
    platform: 'mastodon',
    handle: '@a',
    state: 'connected' as const,
    settings: { charactersReservedPerUrl: n >> 1 },
    options: {},
    disconnectedAt: null,
  }));
  const content = { body: 'A', thread: null, video: null };
  const post = { ...content, overrides: {}, options: {}, channelFiles: {} };
  const rules = { mastodon: { ...mastodon, validate } };
  const validations = await validateContent(rules, channels, post, []);
  isOver = true;
  t.deepEqual(
    validations.map(({ channel }) => channel),
    channels,
  );
  t.is(new Set(turns).size, 15);
});

test('the links of a long text are found once for all servers', (t) => {
  const parts = Array.from({ length: 25 }, (_, n) => `${n} ${'http://a.co '.repeat(990)}`);
  const cost = (linkLengths: readonly number[]): number => {
    const before = process.threadCpuUsage();
    for (const linkLength of linkLengths) {
      for (const part of parts) {
        statusLength(part, linkLength);
      }
    }
    return process.threadCpuUsage(before).user;
  };
  const first = cost([20]);
  const others = cost(Array.from({ length: 60 }, (_, n) => 21 + n));
  t.true(others < 10 * first, `${others} µs for 60 servers, ${first} µs for one`);
});
