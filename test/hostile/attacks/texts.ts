import { must, type Attack, type Target } from '../attack.ts';

/** Texts near the longest length allowed that take long in code which rescans at each position. */
const texts: Readonly<Record<string, string>> = {
  'mentions that never end': '@a.'.repeat(16_000),
  'links within links': 'https://a.'.repeat(4900),
  'many beginnings of links': 'http://'.repeat(7000),
  'hash signs': '#'.repeat(49_000),
  'thousands of family emoji': '👩‍👩‍👧‍👦'.repeat(4000),
  'marks on one letter': `e${'\u0301'.repeat(49_000)}`,
  'half of a surrogate pair': '\ud83d'.repeat(49_000),
  'letters from right to left': '\u202e'.repeat(49_000),
  blanks: `${' '.repeat(49_900)}x`,
  'line ends': '\n'.repeat(49_000),
  'a bracket that is never closed': '('.repeat(49_000),
  dots: `a${'.'.repeat(49_000)}com`,
  zeros: '\u0000'.repeat(49_000),
};

async function validate(target: Target, body: object): Promise<number> {
  return (await target.attacker.post('/posts/validate', body)).status;
}

export const textAttacks: readonly Attack[] = [
  ...Object.entries(texts).map(([name, text]): Attack => ({
    name: `text: ${name}, on every network`,
    run: async (target) => {
      const { channels } = target;
      const status = await validate(target, { body: text, channel_ids: channels });
      return must(status === 200 || status === 400 || status === 422, `answered with ${status}`);
    },
  })),
  {
    name: 'text: a thread of the longest texts, with separate texts for each channel',
    run: async (target) => {
      const { channels } = target;
      const channel_bodies = Object.fromEntries(
        channels.map((id, n) => [id, `${n}${'@a.b '.repeat(9000)}`]),
      );
      const statuses = await Promise.all(
        Array.from({ length: 10 }, () =>
          validate(target, { body: 'x', channel_ids: channels, channel_bodies }),
        ),
      );
      // A workspace has two calls with large bodies at a time.
      return statuses.flatMap((status) =>
        must([200, 400, 422, 429].includes(status), `answered with ${status}`),
      );
    },
  },
];
