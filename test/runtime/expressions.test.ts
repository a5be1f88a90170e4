import { globSync, readFileSync } from 'node:fs';
import test from 'ava';
import { isId } from '../../domain/json-schema.ts';
import { isCommentUrn, postUrnIn, postUrnOf } from '../../networks/linkedin/posts.ts';
import { statusLength } from '../../networks/mastodon/status-length.ts';
import { weightedLength } from '../../networks/x/weighted-length.ts';

const folders = 'networks,runtime,services,domain';

/** A literal of a regular expression in TypeScript. */
const literal =
  /(?<=[\(=:,!\x26\|?\[\{;>]\s*|\breturn )\/(?![*\/ ])(?:[^\\\/\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*(?=[\),.;\s])/gv;

/** The `pattern` of a JSON schema, which Ajv compiles with `u`. */
const pattern = /\bpattern: '(?<source>(?:[^'\\]|\\.)*)'/gv;

/** Files that build expressions from parts, and what applies these. A new file goes here. */
const built: Readonly<Record<string, (text: string) => unknown>> = {
  'domain/json-schema.ts': isId,
  'networks/linkedin/posts.ts': (text) => [
    postUrnOf(text),
    postUrnIn(text),
    isCommentUrn(`urn:li:comment:(${text}`),
  ],
  'networks/mastodon/status-length.ts': (text) => statusLength(text, 23),
  'networks/x/weighted-length.ts': weightedLength,
};

/** In UTF-16 units. Time that is quadratic to it is seconds, linear time less than a few milliseconds. */
const length = 64 * 1024;
const mostMs = 150;

const usual = ['a', '0', ' ', '\n', '.', '/', '<', '&', '@', '#', '-', '_', '(', '"', 'é', '😀'];

/** Texts to repeat: the words of the expression, alone and together, and usual characters. */
function unitsFor(source: string): ReadonlySet<string> {
  const words = source
    .replaceAll(/\\[pPku]\{[^\}]*\}|\\[a-zA-Z]|\(\?<?\w*[=!:>]/gv, ' ')
    .match(/[\w:\/<>@#."'=\x26;\-]+/gv);
  const all = [...(words ?? []), (words ?? []).join(' ')].filter((word) => word.length > 1);
  return new Set([...usual, ...all, ...all.map((word) => `${word} `), 'a.', 'a ', '0)']);
}

/** The processor time of the slowest text, and what it repeats. */
function slowest(source: string, apply: (text: string) => unknown) {
  let worst = { ms: 0, unit: '' };
  for (const unit of unitsFor(source)) {
    const text = `${unit.repeat(length / unit.length)}\n\0`;
    const before = process.threadCpuUsage();
    apply(text);
    const { user, system } = process.threadCpuUsage(before);
    worst = (user + system) / 1000 > worst.ms ? { ms: (user + system) / 1000, unit } : worst;
  }

  return worst;
}

const appliedTo = (expression: RegExp) => (text: string) =>
  expression.global ? text.replaceAll(expression, '') : text.search(expression);

test('no regular expression takes superlinear time, whatever text it meets', (t) => {
  const slow: object[] = [];
  let count = 0;
  for (const file of globSync(`{${folders}}/**/*.ts`)) {
    const code = readFileSync(file, 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gmv, '');
    const literals = (code.match(literal) ?? []).map((text) => {
      const end = text.lastIndexOf('/');
      return new RegExp(text.slice(1, end), text.slice(end + 1));
    });
    const patterns = [...code.matchAll(pattern)].map(
      ({ groups }) => new RegExp((groups?.['source'] ?? '').replaceAll(String.raw`\\`, '\\'), 'u'),
    );
    for (const expression of [...literals, ...patterns]) {
      const worst = slowest(expression.source, appliedTo(expression));
      count += 1;
      if (worst.ms > mostMs) {
        slow.push({ file, expression: String(expression), ...worst });
      }
    }

    t.is(code.includes('new RegExp('), file in built, `${file}: list it in \`built\` above`);
    const worst = built[file] ? slowest(code, built[file]) : { ms: 0 };
    if (worst.ms > mostMs) {
      slow.push({ file, ...worst });
    }
  }

  t.deepEqual(slow, []);
  t.true(count > 150, 'the sources were not found');
});
