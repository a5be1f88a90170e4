import type { Content, MediaFacts } from '../../networks/content-rules.ts';
import type { Json } from '../../networks/network.ts';
import { family } from './content.ts';

const pieces = [
  ['a', 'Hello', ' ', '\n', '\r\n', '\t', '.', '<', '>', '#', '#tag', '@me', '@me@a.example'],
  ['https://a.example/b?c', 'a.co', '$AAPL', '$', '日本', 'é', '\u0301', family, '🇫', '1️⃣'],
  ['\uD83D', '\uDC69', '\u0000', '\uFEFF', '\uFFFF', '\u2028', '__proto__', 'x'.repeat(300)],
].flat();

const types = [
  ['image/jpeg', 'image/png', 'image/gif', 'image/heic', 'video/mp4', 'video/quicktime'],
  ['video/webm', 'audio/mpeg', '', '/', '__proto__', 'constructor', 'image/*', 'video/'],
].flat();

const amounts = [null, 0, 1, -1, 0.5, 1920, 140_000, 1e9, 1e300, NaN, Infinity];

const oddSettings: readonly Json[] = [
  null,
  {},
  [],
  'x',
  { maxVideoBytes: 1 },
  { maxVideoBytes: null },
  { mediaTypes: ['image/png', 'video/x-matroska'], maxMediaAttachments: 0, maxImageBytes: 1 },
  { charactersReservedPerUrl: 0, maxCharacters: 5, mediaTypes: ['image/__proto__'] },
];

/** Things to judge as nobody would send them; the same ones in every run. */
export function* oddContents(count: number): Generator<{ content: Content; settings: Json }> {
  let state = 1;
  const below = (limit: number): number => {
    // Lehmer's generator: bad enough for a lottery, good enough to mix.
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const some = <T>(most: number, make: () => T): T[] =>
    Array.from({ length: below(most + 1) }, make);
  const text = (): string => some(12, () => pick(pieces)).join('');
  const file = (): MediaFacts => ({
    name: text(),
    type: pick(types),
    sizeBytes: pick(amounts) ?? 0,
    width: pick(amounts),
    height: pick(amounts),
    durationMs: pick(amounts),
  });
  const options = () => pick([null, {}, { title: text() }, { title: text(), made_for_kids: true }]);

  for (let made = 0; made < count; made += 1) {
    const content = { texts: some(4, text), media: some(6, file), video: options() };
    yield { content, settings: pick(oddSettings) };
  }
}
